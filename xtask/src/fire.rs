//! Builds and runs the programs of `tests/fire`: each makes load on real processes, and most on real API servers.

use std::process::ExitCode;

use anyhow::bail;

use crate::cargo;
use crate::metadata::Metadata;

/// Runs the cases, with release builds, because they are measured, and returns their exit code: 1 if a case failed, 3 if none failed
/// but one is inconclusive.
pub(crate) fn run(options: &[String]) -> anyhow::Result<ExitCode> {
    cargo::run(&["build", "--quiet", "--release", "-p", "fire", "--bins"])?;
    let program = Metadata::of_workspace()?.target_directory.join("release/fire");
    cargo::run_with_all_descriptors(&program, options)
}

/// Rotates certificates under load.
pub(crate) fn soak(options: &[String]) -> anyhow::Result<()> {
    program("test", &[], "soak", options)
}

/// Changes rules of the real injector binary under load.
pub(crate) fn reload(release: bool, options: &[String]) -> anyhow::Result<()> {
    let profile = if release { "release" } else { "test" };
    program(profile, &["-p", "vestibule-cli"], "reload", options)
}

/// Runs an injector and a webhook under a Prometheus, with every trouble that has an alert.
pub(crate) fn watching(options: &[String]) -> anyhow::Result<()> {
    for program in ["prometheus", "curl"] {
        if !cargo::is_installed(program) {
            bail!("`{program}` cannot be started; Debian has it in the package of that name");
        }
    }
    program("test", &["-p", "vestibule-cli"], "watching", options)
}

/// Builds the programs, and others that they start, and runs the program `name` with these options.
fn program(profile: &str, others: &[&str], name: &str, options: &[String]) -> anyhow::Result<()> {
    let build = ["build", "--quiet", "--profile", profile, "-p", "fire", "--bins"];
    cargo::run(&[&build, others].concat())?;
    let run = ["run", "--quiet", "--profile", profile, "-p", "fire", "--bin", name, "--"];
    cargo::finish(cargo::command(&run).args(options))
}
