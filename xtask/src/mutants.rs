//! cargo-mutants over the pure crates: it changes the code in one place after the other. A change that fails no test shows an
//! untested line.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::{cargo, files};

/// The crates whose code can be mutated.
pub(crate) const CRATES: [&str; 4] = ["patch", "admission", "pki", "rules"];
/// The parts of `rules` that are mutated.
const OF_RULES: [&str; 6] = [
    "crates/rules/src/select*.rs",
    "crates/rules/src/select/**/*.rs",
    "crates/rules/src/merge*.rs",
    "crates/rules/src/merge/**/*.rs",
    "crates/rules/src/evaluate*.rs",
    "crates/rules/src/evaluate/**/*.rs",
];

/// The exit code of cargo-mutants when mutants survived, and nothing else is wrong.
const SURVIVED: i32 = 2;

/// Mutates `krate` in a copy of the workspace, with the arguments `more` for cargo-mutants, and returns its exit code: 0 if every
/// mutant was caught or at most `known` survived, 2 if more did. Examples in the documentation do not run, because linking them for
/// every mutant is slow.
pub(crate) fn run(krate: &str, known: usize, more: &[String]) -> anyhow::Result<ExitCode> {
    let version =
        cargo::command(&["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !version.context("cannot start cargo")?.success() {
        bail!(
            "cargo-mutants is not installed; install it with `cargo install cargo-mutants --locked`, and run this again"
        );
    }
    let output = Metadata::of_workspace()?.target_directory.join("mutants").join(package(krate));
    std::fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let status = command(krate, more).arg("--output").arg(&output).args(["--", "--lib", "--tests"]).status();
    let lists = output.join("mutants.out");
    println!("mutants: lists of caught, missed and unviable mutants are in {}", lists.display());
    let code = status.context("cannot start cargo mutants")?.code();
    if code == Some(SURVIVED) {
        let survivors = files::read(&lists.join("missed.txt"))?.lines().count();
        println!("mutants: {survivors} survived; at most {known} are known to make no difference");
        if survivors <= known {
            return Ok(ExitCode::SUCCESS);
        }
    }
    Ok(cargo::exit_code(code))
}

fn command(krate: &str, more: &[String]) -> Command {
    let mut command = cargo::command(&["mutants", "--package", &package(krate)]);
    command.args(["--timeout", "60", "--no-shuffle", "--colors", "never"]);
    // The tests are linked a thousand times, which is faster without debug info.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // Fewer cases for each property: with 10,000 cases each of the thousand mutants of `patch` takes 20 s.
    command.env("VESTIBULE_CASES", "60");
    if krate == "rules" {
        command.args(OF_RULES.iter().flat_map(|file| ["--file", file]));
    }
    command.args(more);
    command
}

fn package(krate: &str) -> String {
    format!("vestibule-{krate}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mutated_packages_and_modules_exist() {
        for krate in CRATES {
            assert!(cargo::workspace().join("crates").join(krate).join("src/lib.rs").is_file(), "{krate}");
            let command = command(krate, &["--shard".to_owned(), "0/4".to_owned()]);
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            assert!(words.ends_with(&["--shard".to_owned(), "0/4".to_owned()]), "{words:?}");
            let files = if krate == "rules" { OF_RULES.len() } else { 0 };
            assert_eq!(words.iter().filter(|word| *word == "--file").count(), files);
        }
        for module in ["select", "merge", "evaluate"] {
            let source = cargo::workspace().join(format!("crates/rules/src/{module}.rs"));
            assert!(source.is_file(), "{}", source.display());
        }
    }

    /// The nightly run allows as many survivors as the page explains.
    #[test]
    fn the_workflow_knows_the_survivors_of_the_page() {
        let read = |file| files::read_here(file).unwrap();
        let (workflow, page) = (read(".github/workflows/nightly.yml"), read("docs/explanation/mutants.md"));
        let (_, command) = workflow.split_once("mutants --known ").unwrap();
        let [known, krate] = command.split_whitespace().take(2).collect::<Vec<_>>()[..] else { panic!() };
        let row = page.lines().find(|line| line.starts_with(&format!("| `{krate}` |"))).unwrap();
        assert!(row.contains(&format!(" | {known}, all equivalent | ")), "{known}: {row}");
    }
}
