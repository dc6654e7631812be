//! A real run of an injector and a webhook under a Prometheus, with every trouble that has an alert; and the check of the dashboard.
//! The program of the run is in `tests/fire`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::cargo;
use crate::outcome::Outcome;

/// Builds the programs and runs them with these arguments.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    for program in ["prometheus", "curl"] {
        if !cargo::is_installed(program) {
            bail!("`{program}` cannot be started; Debian has it in the package of that name");
        }
    }
    cargo::run(&["build", "--quiet", "-p", "vestibule-cli", "-p", "fire", "--bins"])?;
    let mut command = cargo::command(&["run", "--quiet", "-p", "fire", "--bin", "watching", "--"]);
    cargo::finish(command.args(arguments))
}

/// Decodes the dashboard by the types that Grafana publishes for Go, as `cargo xtask check alerts` does.
pub(crate) fn check_dashboard(root: &Path) -> anyhow::Result<Outcome> {
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.args(arguments).current_dir(root.join("xtask/dashboard"));
        command
    };
    let missing = match go(&["mod", "download"]).status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some("Go's module of Grafana's types cannot be downloaded"),
        Err(error) if error.kind() == ErrorKind::NotFound => Some("there is no `go`"),
        Err(error) => return Err(error).context("go cannot be started"),
    };
    if let Some(missing) = missing {
        println!("NOT CHECKED: deploy/dashboard.json, because {missing}");
        return Ok(Outcome::LeftOut);
    }
    cargo::finish(&mut go(&["run", ".", "../../deploy/dashboard.json"]))
        .context("deploy/dashboard.json does not fit Grafana's types")?;
    Ok(Outcome::Passed)
}
