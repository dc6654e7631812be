//! cargo-mutants over the pure rooms: it changes the code in one place after the other, and a change that no test notices is
//! a line that no test holds.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::ValueEnum;

use crate::cargo;
use crate::metadata::Metadata;

/// A package, and its files where not all of them are meant.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Room {
    Patch,
    Admission,
    Pki,
    /// Only `select`, `merge` and `evaluate`
    Rules,
}

impl Room {
    fn package(self) -> &'static str {
        match self {
            Self::Patch => "vestibule-patch",
            Self::Admission => "vestibule-admission",
            Self::Pki => "vestibule-pki",
            Self::Rules => "vestibule-rules",
        }
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Rules => &[
                "crates/rules/src/select*.rs",
                "crates/rules/src/select/**/*.rs",
                "crates/rules/src/merge*.rs",
                "crates/rules/src/merge/**/*.rs",
                "crates/rules/src/evaluate*.rs",
                "crates/rules/src/evaluate/**/*.rs",
            ],
            Self::Patch | Self::Admission | Self::Pki => &[],
        }
    }
}

/// Mutates the room in a copy of the workspace, with `more` said to cargo-mutants; ends as it does: 0 where every mutant was
/// caught, 2 where some survived. Examples in the documentation are left out: each is linked anew, for every mutant.
pub(crate) fn run(room: Room, more: &[String]) -> anyhow::Result<ExitCode> {
    let asked =
        cargo::command(&["mutants", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !asked.context("cannot start cargo")?.success() {
        bail!(
            "cargo-mutants is not installed; install it with `cargo install cargo-mutants --locked`, and run this again"
        );
    }
    let output = Metadata::of_workspace()?.target_directory.join("mutants").join(room.package());
    std::fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    let status = command(room, more).arg("--output").arg(&output).args(["--", "--lib", "--tests"]).status();
    println!(
        "mutants: lists of caught, missed and unviable mutants are in {}",
        output.join("mutants.out").display()
    );
    let code = status.context("cannot start cargo mutants")?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn command(room: Room, more: &[String]) -> Command {
    let mut command = cargo::command(&["mutants", "--package", room.package()]);
    command.args(["--timeout", "60", "--no-shuffle", "--colors", "never"]);
    // Debug info is not needed, and the tests are linked a thousand times.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // Fewer cases for each law: with 10,000 of them a mutant of `patch` takes 20 s, and there are a thousand.
    command.env("VESTIBULE_CASES", "60");
    command.args(room.files().iter().flat_map(|file| ["--file", file])).args(more);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_rules_only_three_modules_are_mutated_and_they_exist() {
        for room in Room::value_variants() {
            let package = room.package().replace("vestibule-", "crates/");
            assert!(cargo::workspace().join(&package).join("src/lib.rs").is_file(), "{package}");
            let command = command(*room, &["--shard".to_owned(), "0/4".to_owned()]);
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            assert!(words.ends_with(&["--shard".to_owned(), "0/4".to_owned()]), "{words:?}");
            assert_eq!(words.iter().filter(|word| *word == "--file").count(), room.files().len());
        }
        for module in ["select", "merge", "evaluate"] {
            let source = cargo::workspace().join(format!("crates/rules/src/{module}.rs"));
            assert!(source.is_file(), "{}", source.display());
        }
    }
}
