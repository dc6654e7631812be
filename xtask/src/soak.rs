//! The soak and reload tests under load on real API servers. The programs are in `tests/fire`.

use crate::cargo;

/// Builds the programs and runs the soak, which rotates certificates, with these arguments.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    cargo::run(&["build", "--quiet", "--profile", "test", "-p", "fire", "--bins"])?;
    let mut command =
        cargo::command(&["run", "--quiet", "--profile", "test", "-p", "fire", "--bin", "soak", "--"]);
    cargo::finish(command.args(arguments))
}

/// Builds the programs and runs the reload test, which changes rules of the real injector binary.
pub(crate) fn reload(release: bool, arguments: &[String]) -> anyhow::Result<()> {
    let profile = if release { "release" } else { "test" };
    cargo::run(&["build", "--quiet", "--profile", profile, "-p", "vestibule-cli", "-p", "fire", "--bins"])?;
    let run = ["run", "--quiet", "--profile", profile, "-p", "fire", "--bin", "reload", "--"];
    cargo::finish(cargo::command(&run).args(arguments))
}
