//! Runs the model checker of `tests/model`, and prints or writes its page.

use crate::{cargo, files};

const PAGE: &str = "docs/explanation/model.md";

/// Runs the checker, and prints its page or every counterexample; `write` writes the page into docs.
pub(crate) fn run(larger: bool, traces: bool, write: bool) -> anyhow::Result<()> {
    let options = [(larger, "--larger"), (traces, "--traces")];
    let options = options.into_iter().filter_map(|(wanted, option)| wanted.then_some(option));
    // The profile of tests optimizes the checker.
    let run = ["run", "--quiet", "--profile", "test", "--package", "model", "--"];
    let arguments: Vec<_> = run.into_iter().chain(options).collect();
    if !write {
        return cargo::run(&arguments);
    }
    let page = cargo::read(&arguments)?;
    files::write(&cargo::workspace().join(PAGE), page)?;
    println!("model: {PAGE} written");
    Ok(())
}
