//! Checks the alerting rules with promtool, and the dashboard.

use std::io::ErrorKind;
use std::process::Command;

use anyhow::{Context, bail};

use crate::cargo;
use crate::outcome::Outcome;

/// Checks the rules, runs their tests, and decodes the dashboard. A test of the injector checks that the metrics and labels exist.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let dashboard = check_dashboard()?;
    for arguments in [["check", "rules", "deploy/alerts.yaml"], ["test", "rules", "deploy/alerts.test.yaml"]]
    {
        match Command::new("promtool").args(arguments).current_dir(cargo::workspace()).status() {
            Ok(status) if status.success() => {}
            Ok(status) => bail!("`promtool {}` ended with {status}", arguments.join(" ")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!(
                    "NOT CHECKED, because promtool is missing; .ci/run unpacks it from Debian's package `prometheus`"
                );
                return Ok(Outcome::LeftOut);
            }
            Err(error) => return Err(error).context("promtool cannot be started"),
        }
    }
    Ok(dashboard)
}

/// Decodes the dashboard by the types that Grafana publishes for Go.
fn check_dashboard() -> anyhow::Result<Outcome> {
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.args(arguments).current_dir(cargo::workspace().join("xtask/dashboard"));
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
