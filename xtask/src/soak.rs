//! The soak: certificates that rotate under load on real API servers. The programs are `tests/fire`'s.

use crate::cargo;

/// Builds the programs, and runs the soak with these arguments before the user's eyes.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "-p", "fire", "--bins"])?;
    let mut command = cargo::command(&["run", "--quiet", "-p", "fire", "--bin", "soak", "--"]);
    cargo::finish(command.args(arguments))
}

/// The same with rules that change: the injector is the shipped program.
pub(crate) fn reload(release: bool, arguments: &[String]) -> anyhow::Result<()> {
    let profile: &[_] = if release { &["--release"] } else { &[] };
    let build = ["build", "--quiet", "-p", "vestibule-cli", "-p", "fire", "--bins"];
    cargo::run(&[&build, profile].concat())?;
    let run = ["run", "--quiet", "-p", "fire", "--bin", "reload"];
    cargo::finish(cargo::command(&[&run, profile, &["--"]].concat()).args(arguments))
}
