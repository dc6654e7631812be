//! The real etcd and kube-apiserver. Finding and building them is testenv's work; its command is run here.

use std::path::Path;

use crate::cargo;

const COMMAND: [&str; 6] = ["run", "--quiet", "-p", "vestibule-testenv", "--example", "controlplane"];

/// Finds the control plane or builds it, with its progress before the user's eyes.
pub(crate) fn find_or_build() -> anyhow::Result<()> {
    cargo::run(&COMMAND)
}

/// Starts the API server once and has it write its OpenAPI documents into `folder`.
pub(crate) fn openapi(folder: &Path) -> anyhow::Result<()> {
    let mut command = cargo::command(&COMMAND);
    cargo::finish(command.args(["--", "openapi"]).arg(folder))
}
