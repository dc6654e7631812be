//! Builds the programs of `bench/` and runs the comparison.

mod peers;

use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::cargo;
use crate::metadata::Metadata;

/// One scenario holds thousands of idle connections.
const WITH_ALL_DESCRIPTORS: &str = r#"ulimit -n "$(ulimit -Hn)"; exec "$0" "$@""#;

/// Builds release programs, and the peers if there is Go, and runs the bench with these arguments. With `--bin-dir` only the bench and
/// the floor are built; with `--page` and `--help` nothing is measured.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let target = Metadata::of_workspace()?.target_directory;
    let has = |flag: &str| arguments.iter().any(|argument| argument.starts_with(flag));
    build("bench")?;
    if has("--instructions") {
        build("bench-servers")?;
    } else if !has("--bin-dir") && !has("--help") && !has("--page") {
        // One command for each, so that no package gets the features of another: the injector is the one that is shipped.
        build("vestibule-cli")?;
        build("bench-servers")?;
        peers::build(&target.join("release/bench-peers"))?;
    }
    let mut command = Command::new("sh");
    let program = target.join("release/bench");
    let status = command.args(["-c", WITH_ALL_DESCRIPTORS]).arg(program).args(arguments).status();
    // A program that a signal ended has no exit code.
    let code = status.context("cannot start sh")?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn build(package: &str) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--release", "--bins", "-p", package])
}
