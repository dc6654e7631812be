//! `certs`: certificates made, checked, shown and renewed.

mod check;
mod cluster;
mod new;
mod paint;
mod request;
mod show;
mod time;

use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::CommandError;

/// Makes and checks certificates, and looks after the CA ring of a webhook on a cluster.
#[derive(Args, Clone, Debug)]
pub struct CertsArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    New(new::Arguments),
    Check(check::Arguments),
    Show(show::Arguments),
    Rotate(request::RotateArguments),
    Revoke(request::RevokeArguments),
}

impl CertsArguments {
    /// Does what the command line says. Data goes to stdout, talk to stderr. The exit code is 0 when all is well, 1 when
    /// something was found.
    ///
    /// # Errors
    /// Bad input (exit code 2), a cluster or server that cannot be reached (3).
    pub async fn run(&self) -> Result<ExitCode, CommandError> {
        match &self.command {
            Command::New(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.run().await,
            Command::Rotate(arguments) => arguments.run().await,
            Command::Revoke(arguments) => arguments.run().await,
        }
    }
}

/// Nobody answers: exit code 3.
fn unreachable(why: impl fmt::Display) -> CommandError {
    CommandError { message: why.to_string(), code: 3 }
}

/// Data goes to stdout. A reader who has seen enough, as `head` has, is no error.
fn print(data: &str) -> Result<(), CommandError> {
    match std::io::stdout().write_all(data.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandError::running(error)),
        _ => Ok(()),
    }
}
