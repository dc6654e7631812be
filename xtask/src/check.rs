//! Everything about the code that is no test.

use anyhow::bail;
use clap::ValueEnum;

use crate::{alerts, cargo, controlplane, duplicates, keys, length, licences, walls};

/// One check.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Check {
    /// rustfmt would change nothing
    Format,
    /// As the task of that name
    Walls,
    /// Every crate comes under a licence that is listed
    Licences,
    /// No crate twice without a reason
    Duplicates,
    /// No source file above 500 lines
    Length,
    /// clippy has nothing to say
    Lints,
    /// rustdoc has nothing to say
    Documentation,
    /// What is generated is what would be generated now
    Generated,
    /// Alerting rules are what promtool reads, and fire when they should
    Alerts,
}

/// Runs the `wanted` checks, or all, also after one that fails: one run tells everything.
pub(crate) fn run(wanted: &[Check]) -> anyhow::Result<()> {
    // Cheap ones come first: they fail first.
    let checks = if wanted.is_empty() { Check::value_variants() } else { wanted };
    let (mut failed, mut left_out) = (Vec::new(), Vec::new());
    for check in checks {
        let name = check.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        println!("\n== {name}");
        match check.run() {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::LeftOut) => left_out.push(name),
            Err(error) => {
                eprintln!("{name}: {error:#}");
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} checks failed: {}", failed.len(), checks.len(), failed.join(", "));
    }
    let not =
        if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
    println!("\n{} of {} checks passed{not}", checks.len() - left_out.len(), checks.len());
    Ok(())
}

/// How a check ended that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// This machine lacks what it needs, and it has said what.
    LeftOut,
}

impl Check {
    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Format => format(),
            Self::Walls => walls::run(),
            Self::Licences => licences::run(),
            Self::Duplicates => duplicates::run(),
            Self::Length => length::run(),
            Self::Lints => lints(),
            Self::Documentation => documentation(),
            Self::Generated => return generated(),
            Self::Alerts => return alerts::run(),
        }?;
        Ok(Outcome::Passed)
    }
}

fn format() -> anyhow::Result<()> {
    cargo::run(&["fmt", "--all", "--check"])
}

fn lints() -> anyhow::Result<()> {
    cargo::run(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    // `tests/contract` turns the feature `otel` on for the workspace as a whole; authors have it off.
    cargo::run(&["clippy", "--quiet", "-p", "vestibule-command", "--", "-D", "warnings"])
}

fn documentation() -> anyhow::Result<()> {
    let mut command = cargo::command(&["doc", "--quiet", "--workspace", "--no-deps"]);
    cargo::finish(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The API server is the source of what is generated, so there is nothing to compare without one.
fn generated() -> anyhow::Result<Outcome> {
    if let Err(error) = controlplane::find_or_build() {
        println!("NOT COMPARED, for there is no real API server here: {error:#}");
        return Ok(Outcome::LeftOut);
    }
    keys::compare(None)?;
    Ok(Outcome::Passed)
}
