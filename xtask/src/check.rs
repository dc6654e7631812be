//! `cargo xtask check`: every check of the code that is not a test.

use anyhow::bail;
use clap::ValueEnum;

use crate::outcome::Outcome;
use crate::{
    alerts, cargo, circles, controlplane, cross, duplicates, keys, length, licences, package, walls,
    workflows,
};

/// One check.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Check {
    /// Every file is formatted as rustfmt does
    Format,
    /// Every crate depends only on allowed crates
    Walls,
    /// No files of a crate import from each other in a circle
    Circles,
    /// The licence of every crate is allowed
    Licences,
    /// No crate is in the tree in two versions without a reason
    Duplicates,
    /// No source file above 500 lines
    Length,
    /// clippy has no warnings
    Lints,
    /// rustdoc has no warnings
    Documentation,
    /// Generated files are up to date
    Generated,
    /// promtool accepts the alerting rules, and their tests pass
    Alerts,
    /// actionlint accepts the workflows
    Workflows,
    /// Every published crate has the manifest and the files that crates.io and docs.rs need
    Packages,
    /// The binary compiles for Windows and macOS, as far as rustup has these targets; only when it is named
    Cross,
    /// Everything compiles with the oldest Rust that `rust-version` promises; only when it is named
    OldestRust,
}

/// Runs the `wanted` checks, or all. A failed check does not stop the others. With `require_all`, a check that was left out because
/// this machine lacks a program counts as failed.
pub(crate) fn run(wanted: &[Check], require_all: bool) -> anyhow::Result<()> {
    // Cheap checks come first.
    let usual: Vec<_> =
        Check::value_variants().iter().copied().filter(|check| !check.is_only_by_name()).collect();
    let checks = if wanted.is_empty() { usual.as_slice() } else { wanted };
    let (mut failed, mut left_out) = (Vec::new(), Vec::new());
    for check in checks {
        let name = check.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        println!("\n== {name}");
        match check.run() {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::LeftOut) if require_all => failed.push(format!("{name} (left out)")),
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
    let rest =
        if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
    println!("\n{} of {} checks passed{rest}", checks.len() - left_out.len(), checks.len());
    Ok(())
}

impl Check {
    /// These build everything once more, for minutes, and the workflow compiles for other systems on such systems.
    fn is_only_by_name(self) -> bool {
        matches!(self, Self::Cross | Self::OldestRust)
    }

    fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Format => format(),
            Self::Walls => walls::run(),
            Self::Circles => circles::run(),
            Self::Licences => licences::run(),
            Self::Duplicates => duplicates::run(),
            Self::Length => length::run(),
            Self::Packages => package::run(package::Arguments::default()),
            Self::Lints => lints(),
            Self::Documentation => documentation(),
            Self::Generated => return generated(),
            Self::Alerts => return alerts::run(),
            Self::Workflows => return workflows::run(),
            Self::Cross => return cross::targets(),
            Self::OldestRust => return cross::oldest_rust(),
        }?;
        Ok(Outcome::Passed)
    }
}

fn format() -> anyhow::Result<()> {
    cargo::run(&["fmt", "--all", "--check"])
}

fn lints() -> anyhow::Result<()> {
    cargo::run(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    // `tests/contract` turns the feature `otel` on for the workspace; it is off by default.
    cargo::run(&["clippy", "--quiet", "-p", "vestibule-command", "--", "-D", "warnings"])
}

fn documentation() -> anyhow::Result<()> {
    let mut command = cargo::command(&["doc", "--quiet", "--workspace", "--no-deps"]);
    cargo::finish(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The generated files come from the API server, so they cannot be compared without one.
fn generated() -> anyhow::Result<Outcome> {
    if let Err(error) = controlplane::find_or_build(None) {
        println!("NOT COMPARED, because there is no real API server here: {error:#}");
        return Ok(Outcome::LeftOut);
    }
    keys::compare(None)?;
    Ok(Outcome::Passed)
}
