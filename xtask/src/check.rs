//! Everything about the code that is no test.

use anyhow::bail;

use crate::{cargo, controlplane, duplicates, keys, length, licences, walls};

type Check = (&'static str, fn() -> anyhow::Result<()>);

/// Cheap ones first: they fail first.
const CHECKS: &[Check] = &[
    ("format", format),
    ("walls", walls::run),
    ("licences", licences::run),
    ("duplicates", duplicates::run),
    ("length", length::run),
    ("lints", lints),
    ("documentation", documentation),
    ("generated files", generated_files),
];

/// Runs all checks, also after one that fails: one run tells everything.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        println!("\n== {name}");
        if let Err(error) = check() {
            eprintln!("{name}: {error:#}");
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} checks failed: {}", failed.len(), CHECKS.len(), failed.join(", "));
    }
    println!("\n{} checks passed", CHECKS.len());
    Ok(())
}

fn format() -> anyhow::Result<()> {
    cargo::run(&["fmt", "--all", "--check"])
}

fn lints() -> anyhow::Result<()> {
    cargo::run(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn documentation() -> anyhow::Result<()> {
    let mut command = cargo::command(&["doc", "--quiet", "--workspace", "--no-deps"]);
    cargo::finish(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// The API server is the source of what is generated, so there is nothing to compare without one.
fn generated_files() -> anyhow::Result<()> {
    if let Err(error) = controlplane::find_or_build() {
        println!("NOT COMPARED, for there is no real API server here: {error:#}");
        return Ok(());
    }
    keys::compare(None)
}
