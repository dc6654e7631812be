//! A real run of an injector and a webhook under a Prometheus, with every trouble that has an alert. The program of the run is in
//! `tests/fire`.

use anyhow::bail;

use crate::cargo;

/// Builds the programs and runs them with these arguments.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    for program in ["prometheus", "curl"] {
        if !cargo::is_installed(program) {
            bail!("`{program}` cannot be started; Debian has it in the package of that name");
        }
    }
    cargo::run(&["build", "--quiet", "--profile", "test", "-p", "vestibule-cli", "-p", "fire", "--bins"])?;
    let mut command =
        cargo::command(&["run", "--quiet", "--profile", "test", "-p", "fire", "--bin", "watching", "--"]);
    cargo::finish(command.args(arguments))
}
