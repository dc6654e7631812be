//! Builds the programs of `bench/` and runs the comparison.

mod peers;

use std::process::ExitCode;

use crate::cargo;
use crate::metadata::Metadata;

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
    cargo::run_with_all_descriptors(&target.join("release/bench"), arguments)
}

fn build(package: &str) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--release", "--bins", "-p", package])
}
