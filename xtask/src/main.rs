//! The task runner of the project: tests, checks, generated files, load tests.
//!
//! Contributors and CI call it as `cargo xtask TASK`; `cargo xtask` prints the list. It depends on no crate of the workspace, so
//! that it builds in seconds. Each task is a module of its name (`docs` is `book`; `soak`, `reload` and `watching` are in `fire`); the
//! other modules are checks and helpers. Start reading at [`Task`] below, then at `test.rs` and `check.rs`.

// A command-line tool prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod advisories;
mod alerts;
mod api;
mod bench;
mod binary;
mod binary_build;
mod book;
mod cargo;
mod check;
mod circles;
mod controlplane;
mod cross;
#[cfg(test)]
mod doc_examples;
mod duplicates;
mod files;
mod fire;
mod fuzz;
mod generated;
mod image;
mod keys;
mod length;
mod licences;
mod metadata;
mod model;
mod mutants;
mod outcome;
mod package;
mod release;
mod session;
mod skew;
mod smoke;
mod tarball;
mod templates;
mod test;
#[cfg(test)]
mod tests;
mod walls;
mod workflows;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

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
        Some(Task::Test(arguments)) => test::run(arguments),
        Some(Task::Check { only, require_all }) => check::run(only, *require_all),
        Some(Task::Walls) => walls::run(),
        Some(Task::Controlplane) => controlplane::find_or_build(None),
        Some(Task::Model { larger, traces, write }) => model::run(*larger, *traces, *write),
        Some(Task::Soak(program)) => fire::soak(&program.options),
        Some(Task::Reload { release, program }) => fire::reload(*release, &program.options),
        Some(Task::Fire(program)) => return fire::run(&program.options),
        Some(Task::Bench(program)) => return bench::run(&program.options),
        Some(Task::Image(arguments)) => image::run(arguments),
        Some(Task::Profile { output }) => {
            let usual = || cargo::workspace().join(image::PROFILE);
            image::profile::make(&image::Source::here()?, &output.clone().unwrap_or_else(usual))
        }
        Some(Task::Docs) => book::run(),
        Some(Task::Package(arguments)) => package::run(*arguments),
        Some(Task::Release(arguments)) => release::run(arguments),
        Some(Task::Smoke { binary }) => smoke::run(binary.as_deref()),
        Some(Task::Templates(arguments)) => templates::run(arguments),
        Some(Task::Session) => session::run(),
        Some(Task::Watching(program)) => fire::watching(&program.options),
        Some(Task::Skew { revision }) => skew::run(revision.as_deref()),
        Some(Task::Mutants { krate, known, program }) => {
            return mutants::run(krate, *known, &program.options);
        }
        Some(Task::Advisories) => advisories::run(),
        Some(Task::Fuzz { minutes, targets }) => fuzz::run(*minutes, targets),
        Some(Task::Api { check }) => api::run(*check),
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
    /// Run the tests; tests on a real API server run if one can be found or built
    Test(test::Arguments),
    /// Format, lints, documentation, walls, licences, duplicates, file length, generated files, alerts, workflows, packages
    Check {
        /// Run only these
        #[arg(value_enum, value_name = "CHECK")]
        only: Vec<check::Check>,
        /// Fail when a check was left out, because a program is missing
        #[arg(long)]
        require_all: bool,
    },
    /// Check that each crate depends only on the crates that it may use
    Walls,
    /// Find the real etcd and kube-apiserver, kubectl and helm, or build them into the cache (needs Go)
    Controlplane,
    /// Check the model of the CA ring for every order of events, and for each rule that is turned off
    Model {
        /// Check larger clusters instead, and print their sizes: some minutes, little memory
        #[arg(long, conflicts_with_all = ["traces", "write"])]
        larger: bool,
        /// Print each counterexample step by step instead of the page
        #[arg(long, conflicts_with = "write")]
        traces: bool,
        /// Write the page into docs/explanation
        #[arg(long)]
        write: bool,
    },
    /// Rotate certificates under load on real API servers, and count the calls that fail; options: `soak --help`
    #[command(disable_help_flag = true)]
    Soak(ProgramOptions),
    /// Change rules, good and bad, while pods are created on a real API server, and check every pod; options: `reload --help`
    #[command(disable_help_flag = true)]
    Reload {
        /// Measure a release build; has to come first
        #[arg(long)]
        release: bool,
        #[command(flatten)]
        program: ProgramOptions,
    },
    /// Roll-outs, overload, abuse and faults against real processes of a webhook, with a table at the end; options: `fire --help`
    #[command(disable_help_flag = true)]
    Fire(ProgramOptions),
    /// Compare webhook servers, ours and others: CPU time, latency, memory; options: `bench --help`
    #[command(disable_help_flag = true)]
    Bench(ProgramOptions),
    /// Make the container image, reproducibly and without Docker; `--try` runs it under runc, called by a real API server
    Image(image::Arguments),
    /// Let a build with counters serve recorded reviews, and write the profile for `image --profile` and `release archive --profile`
    Profile {
        /// The file of the profile [default: target/vestibule.profdata]
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Build the pages of docs/ as a book with search, by mdBook; installs it into the cache first
    Docs,
    /// Make the packages of all published crates, and check their manifests and contents
    Package(package::Arguments),
    /// The files of a release and the commands that publish it: versions compared, archives, chart, krew manifest, checksums
    Release(release::Arguments),
    /// Run the commands for a laptop once each: the only test on macOS and Windows
    Smoke {
        /// A finished binary instead of a build
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
    /// Write a crate of each kind by `vestibule new`, build it alone and offline, and test it on a real API server
    Templates(templates::Arguments),
    /// Record the terminal session of the README on a real API server, into docs/session.svg
    Session,
    /// Run an injector and a webhook under a real Prometheus, make every alert fire, and try the pages about alerts; options: `watching --help`
    #[command(disable_help_flag = true)]
    Watching(ProgramOptions),
    /// Run replicas of another release beside this one, both ways, under load on a real API server
    Skew {
        /// The other release: a tag or another revision of this repository [default: the last release]
        #[arg(value_name = "REVISION")]
        revision: Option<String>,
    },
    /// Change the code of a pure crate in one place after the other, and list the changes that no test detects (needs cargo-mutants)
    Mutants {
        /// The crate; of `rules`, only `select`, `merge` and `evaluate`
        #[arg(value_parser = mutants::CRATES, value_name = "CRATE")]
        krate: String,
        /// How many survivors are known to make no difference; has to come first
        #[arg(long, value_name = "N", default_value_t = 0)]
        known: usize,
        #[command(flatten)]
        program: ProgramOptions,
    },
    /// Check the locked crates for known vulnerabilities, by cargo-audit; needs the network
    Advisories,
    /// Run libFuzzer on the properties that hold for any bytes, one target after the other, and report its findings
    Fuzz {
        /// The duration of each target
        #[arg(long, value_name = "N", default_value_t = 20)]
        minutes: u64,
        /// Run only these: apply, diff, http, pointer, review, rules, secret, selector, yaml
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
    },
    /// List the public API of every published library in docs/public-api, for reviews
    Api {
        /// Only compare the listings with the sources
        #[arg(long)]
        check: bool,
    },
    /// Write the table of list keys from the real API server's OpenAPI documents
    Keys {
        /// Only compare the table with the API server's documents
        #[arg(long)]
        check: bool,
        /// Read OpenAPI documents from this folder instead of a running API server
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
}

/// Options that a task hands to the program that it starts.
#[derive(Args)]
struct ProgramOptions {
    /// Options of the program; its `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<String>,
}
