//! The real etcd and kube-apiserver. Finding and building them is testenv's work; its binary is run here.

use std::path::Path;

use crate::cargo;

const BINARY: [&str; 6] = ["run", "--quiet", "-p", "vestibule-testenv", "--bin", "controlplane"];

/// Finds the control plane or builds it, with its progress before the user's eyes.
pub(crate) fn find_or_build() -> anyhow::Result<()> {
    cargo::run(&BINARY)
}

/// Starts the API server once and has it write its OpenAPI documents into `folder`.
pub(crate) fn openapi(folder: &Path) -> anyhow::Result<()> {
    let mut command = cargo::command(&BINARY);
    cargo::finish(command.args(["--", "openapi"]).arg(folder))
}
