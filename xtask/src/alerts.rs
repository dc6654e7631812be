//! Checks the alerting rules with promtool, and the dashboard.

use std::io::ErrorKind;
use std::process::Command;

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::outcome::Outcome;
use crate::watching;

/// Checks the rules, runs their tests, and decodes the dashboard. A test of the injector checks that the metrics and labels exist.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let root = Metadata::of_workspace()?.workspace_root;
    let dashboard = watching::check_dashboard(&root)?;
    for arguments in [["check", "rules", "deploy/alerts.yaml"], ["test", "rules", "deploy/alerts.test.yaml"]]
    {
        match Command::new("promtool").args(arguments).current_dir(&root).status() {
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
