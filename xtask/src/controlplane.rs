//! The real etcd and kube-apiserver, found or built by testenv's example `controlplane`.

use std::path::Path;

use crate::cargo;

const COMMAND: [&str; 6] = ["run", "--quiet", "-p", "vestibule-testenv", "--example", "controlplane"];

/// The folder of etcd and kube-apiserver that testenv prefers.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// Finds or builds the control plane, with progress on the terminal. The programs in the folder `assets` are taken first.
pub(crate) fn find_or_build(assets: Option<&Path>) -> anyhow::Result<()> {
    cargo::finish(cargo::command(&COMMAND).envs(assets.map(|folder| (ASSETS, folder))))
}

/// Starts the API server and writes its OpenAPI documents into `folder`.
pub(crate) fn openapi(folder: &Path) -> anyhow::Result<()> {
    let mut command = cargo::command(&COMMAND);
    cargo::finish(command.args(["--", "openapi"]).arg(folder))
}
