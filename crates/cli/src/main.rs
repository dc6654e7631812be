//! `vestibule`: an injector that works by rules, and a workbench that shows on a laptop what it does.

mod certs;
mod changes;
mod evaluation;
mod explain;
mod files;
mod golden;
mod inject;
mod lint;
mod log_level;
mod manifests;
mod objects;
#[cfg(test)]
mod reference;
mod render;
mod rules;
mod serve;
mod shell;
mod trial;
mod workload;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use vestibule_command::{CertsArguments, CommandError, LogLevelArguments};
use vestibule_rules::Diagnostic;

/// Whose memory a crowd has had goes back to the system when it has left; glibc keeps it.
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
    Try(trial::Arguments),
    Inject(inject::Arguments),
    Explain(explain::Arguments),
    Lint(lint::Arguments),
    Test(golden::Arguments),
    Serve(Box<serve::Arguments>),
    Manifests(Box<manifests::Arguments>),
    Certs(CertsArguments),
    Loglevel(LogLevelArguments),
    Schema(shell::SchemaArguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

/// Why a command ended badly.
enum Failure {
    Command(CommandError),
    /// What is wrong with the user's files.
    Findings(Vec<Diagnostic>),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Try(arguments) => trial::run(&arguments),
        Command::Inject(arguments) => inject::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Test(arguments) => golden::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Manifests(arguments) => manifests::run(&arguments),
        Command::Certs(arguments) => certs::run(&arguments),
        Command::Loglevel(arguments) => log_level::run(&arguments),
        Command::Schema(_) => shell::schema(),
        Command::Completions(arguments) => shell::completions(&arguments, Arguments::command()),
        Command::Man(arguments) => shell::man(&arguments, Arguments::command()),
    };
    done.unwrap_or_else(|failure| match failure {
        Failure::Command(error) => error.report(),
        Failure::Findings(findings) => {
            findings.iter().for_each(say);
            ExitCode::from(2)
        }
    })
}

/// Writes data to stdout. A reader who has seen enough, as `head` has, is no error.
fn print(data: &str) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout();
    match stdout.write_all(data.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(CommandError::running(error)),
        _ => Ok(()),
    }
}

/// Writes a line to stderr. Where nobody reads it any more, nothing is lost.
fn say(line: impl fmt::Display) {
    let _unread = writeln!(std::io::stderr(), "{line}");
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

/// What went wrong on the way to the output, with its causes.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Command(CommandError::running(format_args!("{error:#}")))
    }
}
