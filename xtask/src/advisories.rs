//! `cargo xtask advisories`: the locked crates against RustSec's list of vulnerabilities, by cargo-audit.
//!
//! The list is fetched from GitHub each time, so that this is a task of the nightly workflow and not a check of a change: an advisory
//! of today concerns the code of yesterday.

use std::process::Command;

use crate::cargo;

/// The version that is installed on demand.
const TOOL: &str = "0.22.2";

/// Fails when a locked crate has a vulnerability. Unmaintained and yanked crates are printed as warnings.
pub(crate) fn run() -> anyhow::Result<()> {
    let audit = cargo::tool("cargo-audit", TOOL, &[])?;
    let mut command = Command::new(audit);
    cargo::finish(command.args(["audit", "--file", "Cargo.lock"]).current_dir(cargo::workspace()))
}
