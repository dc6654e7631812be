//! The project's task runner: what one line of shell cannot do. `cargo xtask` prints the list.

// A binary that talks to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod alerts;
mod cargo;
mod check;
mod controlplane;
mod duplicates;
mod fire;
mod fuzz;
mod keys;
mod length;
mod licences;
mod metadata;
mod model;
mod mutants;
mod soak;
mod test;
mod walls;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.task {
        None => Arguments::command().print_help().map_err(Into::into),
        Some(Task::Test { parts, require_apiserver }) => test::run(parts, *require_apiserver),
        Some(Task::Check { only }) => check::run(only),
        Some(Task::Walls) => walls::run(),
        Some(Task::Controlplane) => controlplane::find_or_build(),
        Some(Task::Model { larger, traces, write }) => model::run(*larger, *traces, *write),
        Some(Task::Soak { arguments }) => soak::run(arguments),
        Some(Task::Reload { release, arguments }) => soak::reload(*release, arguments),
        Some(Task::Fire { arguments }) => return fire::run(arguments),
        Some(Task::Mutants { room, arguments }) => return mutants::run(*room, arguments),
        Some(Task::Fuzz { minutes, targets }) => fuzz::run(*minutes, targets),
        Some(Task::Keys { check: false, from }) => keys::write(from.as_deref()),
        Some(Task::Keys { check: true, from }) => keys::compare(from.as_deref()),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The project's tasks. New here? `cargo xtask test`, then `cargo xtask check`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Run the tests, those on a real API server included if one can be found or built
    Test {
        /// Only these packages, by folder: `patch`, `rules`, `cluster`, ...
        #[arg(value_name = "PART")]
        parts: Vec<String>,
        /// Fail when a test that needs the real API server was skipped, or none ran
        #[arg(long)]
        require_apiserver: bool,
    },
    /// Format, lints, documentation, walls, licences, duplicates, file length, generated files, alerts
    Check {
        /// Run only these
        #[arg(value_enum, value_name = "CHECK")]
        only: Vec<check::Check>,
    },
    /// Which room knows which, which foreign crates it names, and what it never reaches
    Walls,
    /// Find the real etcd and kube-apiserver, kubectl and helm, or build them into the cache (needs Go)
    Controlplane,
    /// Walk every order of events around the CA ring, and find the damage when a rule is off
    Model {
        /// Walk larger clusters instead, and print what was walked: some minutes, little memory
        #[arg(long, conflicts_with_all = ["traces", "write"])]
        larger: bool,
        /// Print each counterexample step by step instead of the page
        #[arg(long, conflicts_with = "write")]
        traces: bool,
        /// Write the page into docs/explanation
        #[arg(long)]
        write: bool,
    },
    /// Rotate certificates under load on real API servers, and count the calls that fail; `soak --help` tells its options
    #[command(disable_help_flag = true)]
    Soak {
        /// What the soak is told: `--rotations N --replicas R --lag SECONDS ...`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
        arguments: Vec<String>,
    },
    /// Change rules, good and bad, while pods are created on a real API server, and judge every pod; `reload --help`
    #[command(disable_help_flag = true)]
    Reload {
        /// Measure a release build; said first
        #[arg(long)]
        release: bool,
        /// What the run is told: `--versions N --rate CREATES --replicas R ...`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
        arguments: Vec<String>,
    },
    /// Roll-outs, overload, abuse and faults against real processes of a webhook, one table in the end; `fire --help`
    #[command(disable_help_flag = true)]
    Fire {
        /// What it is told: `[CASE...] [--long]`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
        arguments: Vec<String>,
    },
    /// Change the code of a pure room in one place after the other, and tell which changes no test notices (needs cargo-mutants)
    Mutants {
        /// Which
        #[arg(value_enum)]
        room: mutants::Room,
        /// What cargo-mutants is told besides: `--shard 0/8`, `--file FILE`, `--jobs 2`, ...
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
        arguments: Vec<String>,
    },
    /// Run libFuzzer on the laws that hold for any bytes, one target after the other, and say what it found
    Fuzz {
        /// How long each target runs
        #[arg(long, value_name = "N", default_value_t = 20)]
        minutes: u64,
        /// Run only these: apply, diff, http, pointer, review, rules, secret, selector, yaml
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
    },
    /// Write the table of list keys from the real API server's OpenAPI documents
    Keys {
        /// Only compare the table with what the API server says now
        #[arg(long)]
        check: bool,
        /// Read OpenAPI documents from this folder instead of a running API server
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }

    /// Arguments of `fire`, `soak` and `reload` are looked at by those.
    #[test]
    fn every_task_that_a_page_names_can_be_typed() {
        let workspace = crate::cargo::workspace();
        let mut pages: Vec<_> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "fuzz/README.md"]
            .map(|page| workspace.join(page))
            .into();
        collect(&workspace.join("docs"), &mut pages);
        let mut named = 0;
        for page in pages {
            let text = std::fs::read_to_string(&page).unwrap();
            for command in text.split(['`', '\n']).filter(|text| text.starts_with("cargo xtask")) {
                // What may be left out stands in brackets.
                let words = command.split_whitespace().skip(1).take_while(|word| !word.starts_with('['));
                let parsed = super::Arguments::try_parse_from(words);
                assert!(parsed.is_ok(), "{}: {command}: {}", page.display(), parsed.err().unwrap());
                named += 1;
            }
        }
        assert!(named > 50, "{named} commands");
    }

    fn collect(folder: &std::path::Path, pages: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None if path.is_dir() => collect(&path, pages),
                Some(extension) if extension == "md" => pages.push(path),
                _ => {}
            }
        }
    }
}
