//! The alerting rules, as Prometheus itself reads them.

use std::io::ErrorKind;
use std::process::Command;

use anyhow::{Context, bail};

use crate::check::Outcome;
use crate::metadata::Metadata;

/// Checks the rules, then runs their tests. That metrics and labels exist is a test of the injector.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let root = Metadata::of_workspace()?.workspace_root;
    for arguments in [["check", "rules", "deploy/alerts.yaml"], ["test", "rules", "deploy/alerts.test.yaml"]]
    {
        match Command::new("promtool").args(arguments).current_dir(&root).status() {
            Ok(status) if status.success() => {}
            Ok(status) => bail!("`promtool {}` ended with {status}", arguments.join(" ")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!(
                    "NOT CHECKED, for there is no promtool here; it is in Debian's package `prometheus`"
                );
                return Ok(Outcome::LeftOut);
            }
            Err(error) => return Err(error).context("promtool cannot be started"),
        }
    }
    Ok(Outcome::Passed)
}
