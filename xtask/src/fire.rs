//! Runs the cases of `tests/fire`, with release builds, because they are measured.

use std::process::ExitCode;

use crate::cargo;
use crate::metadata::Metadata;

/// Builds the programs, runs the cases, and returns their exit code: 1 if a case failed, 3 if none failed but one is
/// inconclusive.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    cargo::run(&["build", "--quiet", "--release", "-p", "fire", "--bins"])?;
    let program = Metadata::of_workspace()?.target_directory.join("release/fire");
    cargo::run_with_all_descriptors(&program, arguments)
}
