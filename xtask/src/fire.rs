//! Runs the cases of `tests/fire`, with release builds, because they are measured.

use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::cargo;
use crate::metadata::Metadata;

/// Raises the limit of file descriptors: cases hold thousands of connections.
const WITH_ALL_DESCRIPTORS: &str = r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#;

/// Builds the programs, runs the cases, and returns their exit code: 1 if a case failed, 3 if none failed but one is
/// inconclusive.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    cargo::run(&["build", "--quiet", "--release", "-p", "fire", "--bins"])?;
    let program = Metadata::of_workspace()?.target_directory.join("release/fire");
    let mut command = Command::new("sh");
    let status = command.args(["-c", WITH_ALL_DESCRIPTORS]).arg(program).args(arguments).status();
    // A program that a signal ended has no exit code.
    let code = status.context("cannot start sh")?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
