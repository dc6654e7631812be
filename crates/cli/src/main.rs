//! `vestibule`: the injector, and a workbench that shows on a laptop what it does.
//!
//! This crate parses flags, prints, and chooses exit codes: 0 for success, 1 for a negative result, 2 for bad input, 3 for a
//! cluster or server that does not answer. Each command has a module of its name (`try` is `try_rules`, `test` is `golden`,
//! `uninstall` is in `install`, `schema`, `completions` and `man` are in `generate`; `certs` and `loglevel` are in
//! `vestibule-command`). The decisions are elsewhere: rules in `vestibule-rules`, the injector in `vestibule-injector`, `serve` and
//! `manifests` of any webhook in `vestibule-command`.
//!
//! - `objects` reads the user's objects, `rules` the flags for rules, `workload` derives the pod of a workload.
//! - `evaluation` gets the answers for objects and for the pods that they will make: from the rules, or in `try_rules` from a
//!   real server.
//! - `changes` and `render` turn the results into text.

mod changes;
mod drift;
mod evaluation;
mod explain;
mod files;
mod generate;
mod golden;
mod inject;
mod install;
mod lagging_pods;
mod lint;
mod manifests;
mod new;
mod objects;
mod render;
mod rules;
mod serve;
#[cfg(test)]
mod tests;
mod try_rules;
mod version;
mod workload;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use vestibule_command::{
    CertsArguments, CommandError, InstallArguments, LogLevelArguments, UninstallArguments, print, say,
};
use vestibule_rules::Diagnostic;

/// jemalloc returns the memory of a burst of requests to the system; glibc keeps it. It does not build for Windows.
#[cfg(all(feature = "jemalloc", not(windows)))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Injects sidecars, variables, volumes and labels into pods by rules: shows it on a laptop, serves it to a cluster.
#[derive(Parser)]
#[command(name = "vestibule", version, after_help = "Start here: vestibule try")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Try(try_rules::Arguments),
    Inject(inject::Arguments),
    Explain(explain::Arguments),
    Drift(drift::Arguments),
    Lint(lint::Arguments),
    New(new::Arguments),
    Test(golden::Arguments),
    Serve(Box<serve::Arguments>),
    Manifests(Box<manifests::Arguments>),
    /// Installs the injector on a cluster, or upgrades it: applies its objects, and waits until the API server calls it.
    ///
    /// Nothing is changed if the API server would refuse an object, such as for a missing right. For other settings there are
    /// `vestibule manifests`, deploy/install.yaml, and a Helm chart in deploy/helm.
    #[command(after_help = "Examples:
  vestibule install --dry-run
  vestibule install --image registry.example.com/vestibule:0.1.0
  kubectl apply -f rule.yaml")]
    Install(InstallArguments),
    /// Removes the injector from a cluster. Rules and the namespace stay, unless --all is given.
    #[command(after_help = "Examples:
  vestibule uninstall --dry-run
  vestibule uninstall --all")]
    Uninstall(UninstallArguments),
    Certs(CertsArguments),
    Loglevel(LogLevelArguments),
    /// Prints the JSON Schema of rules, for editors: made from the definition that the reader uses.
    #[command(after_help = "Example:
  vestibule schema > rules.schema.json

An editor with the YAML language server takes it from the first line of a file of rules:
  # yaml-language-server: $schema=rules.schema.json")]
    Schema,
    Completions(generate::CompletionsArguments),
    Man(generate::ManArguments),
    Version(version::Arguments),
}

/// Why a command failed.
enum Failure {
    Command(CommandError),
    /// Findings in the user's files.
    Findings(Vec<Diagnostic>),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Try(arguments) => try_rules::run(&arguments),
        Command::Inject(arguments) => inject::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Drift(arguments) => drift::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Test(arguments) => golden::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Manifests(arguments) => manifests::run(&arguments),
        Command::Install(arguments) => install::install(&arguments),
        Command::Uninstall(arguments) => install::uninstall(&arguments),
        Command::Certs(arguments) => block_on(arguments.run()),
        Command::Loglevel(arguments) => block_on(arguments.run(vestibule_injector::NAME)),
        Command::Schema => generate::schema(),
        Command::Completions(arguments) => generate::completions(&arguments, Arguments::command()),
        Command::Man(arguments) => generate::man(&arguments, Arguments::command()),
        Command::Version(arguments) => version::run(&arguments),
    };
    done.unwrap_or_else(|failure| match failure {
        Failure::Command(error) => error.report(),
        Failure::Findings(findings) => {
            findings.iter().for_each(say);
            ExitCode::from(2)
        }
    })
}

/// Runs a command, or a part of one, that asks a cluster.
fn block_on<T, E: Into<Failure>>(asking: impl Future<Output = Result<T, E>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::running)?;
    runtime.block_on(asking).map_err(Into::into)
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

/// An error while running, with its causes.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Command(CommandError::running(format_args!("{error:#}")))
    }
}
