//! What is set on fire: the programs are `tests/fire`'s, built as they are shipped, since they are measured.

use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::cargo;
use crate::metadata::Metadata;

/// As many descriptors as this user may have: cases hold thousands of connections.
const WITH_ALL_DESCRIPTORS: &str = r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#;

/// Builds the programs, and runs the cases before the user's eyes. Ends as they do: 1 where one fell, 3 where none fell but one
/// is inconclusive.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    cargo::run(&["build", "--quiet", "--release", "-p", "fire", "--bins"])?;
    let program = Metadata::of_workspace()?.target_directory.join("release/fire");
    let mut command = Command::new("sh");
    let status = command.args(["-c", WITH_ALL_DESCRIPTORS]).arg(program).args(arguments).status();
    // A signal is no code.
    let code = status.context("cannot start sh")?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
