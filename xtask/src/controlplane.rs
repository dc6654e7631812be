//! The real etcd and kube-apiserver, found or built by testenv's example `controlplane`.

use std::path::Path;

use crate::cargo;

const COMMAND: [&str; 6] = ["run", "--quiet", "-p", "vestibule-testenv", "--example", "controlplane"];

/// Finds or builds the control plane, with progress on the terminal.
pub(crate) fn find_or_build() -> anyhow::Result<()> {
    cargo::run(&COMMAND)
}

/// Starts the API server and writes its OpenAPI documents into `folder`.
pub(crate) fn openapi(folder: &Path) -> anyhow::Result<()> {
    let mut command = cargo::command(&COMMAND);
    cargo::finish(command.args(["--", "openapi"]).arg(folder))
}
