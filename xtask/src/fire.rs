//! What is set on fire: the programs are `tests/fire`'s, built as they are shipped, since they are measured.

use std::process::Command;

use anyhow::{Context, bail};

use crate::cargo;
use crate::metadata::Metadata;

/// As many descriptors as this user may have: cases hold thousands of connections.
const WITH_ALL_DESCRIPTORS: &str = r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#;

/// Builds the programs, and runs the cases before the user's eyes.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--release", "-p", "fire", "--bins"])?;
    let program = Metadata::of_workspace()?.target_directory.join("release/fire");
    let mut command = Command::new("sh");
    let status = command.args(["-c", WITH_ALL_DESCRIPTORS]).arg(program).args(arguments).status();
    match status.context("cannot start sh")?.success() {
        true => Ok(()),
        false => bail!("not every case held"),
    }
}
