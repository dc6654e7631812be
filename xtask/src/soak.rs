//! The soak and reload tests under load on real API servers. The programs are in `tests/fire`.

use crate::cargo;

/// Builds the programs and runs the soak, which rotates certificates, with these arguments.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "-p", "fire", "--bins"])?;
    let mut command = cargo::command(&["run", "--quiet", "-p", "fire", "--bin", "soak", "--"]);
    cargo::finish(command.args(arguments))
}

/// Builds the programs and runs the reload test, which changes rules of the real injector binary.
pub(crate) fn reload(release: bool, arguments: &[String]) -> anyhow::Result<()> {
    let profile: &[_] = if release { &["--release"] } else { &[] };
    let build = ["build", "--quiet", "-p", "vestibule-cli", "-p", "fire", "--bins"];
    cargo::run(&[&build, profile].concat())?;
    let run = ["run", "--quiet", "-p", "fire", "--bin", "reload"];
    cargo::finish(cargo::command(&[&run, profile, &["--"]].concat()).args(arguments))
}
