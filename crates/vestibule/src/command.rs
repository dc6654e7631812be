//! The command line of a webhook's binary: what [`App::run`] understands, in parts that other binaries can share.

mod certs;
mod cluster;
mod duration;
mod knobs;
mod logs;
mod manifests;
mod serve;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use certs::CertsArguments;
pub use logs::init_logs;
pub use manifests::{ManifestsArguments, Part};
pub use serve::ServeArguments;

use crate::App;

/// Why a command ended badly. Its exit codes are the project's: 1 for what went wrong while running, 2 for bad input.
#[derive(Debug)]
pub struct CommandError {
    message: String,
    code: u8,
}

#[derive(Parser)]
#[command(about = "A Kubernetes admission webhook.")]
// The binary's own version is not known here.
#[command(version = concat!("(vestibule ", env!("CARGO_PKG_VERSION"), ")"))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the hooks over HTTPS until a signal ends it.
    ///
    /// Example: serve --listen 127.0.0.1:8443 --identity local:.vestibule --dns localhost
    Serve(Box<ServeArguments>),
    /// Prints what registers the hooks with the API server, and with `--identity self` the rights that takes.
    ///
    /// Example: manifests --service shop/my-webhook --identity self
    Manifests(Box<ManifestsArguments>),
}

impl App {
    /// Reads the command line and does what it says: `serve` or `manifests`. `--help` lists the options.
    ///
    /// What goes wrong is said on stderr; the exit code is 2 for bad input and 1 for what went wrong while running.
    pub async fn run(self) -> ExitCode {
        let name = self.name().to_owned();
        let matches = Arguments::command().name(name.clone()).bin_name(name).get_matches();
        let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let done = match arguments.command {
            Command::Serve(arguments) => {
                init_logs();
                arguments.serve(self).await
            }
            Command::Manifests(arguments) => arguments.print(&self),
        };
        done.map_or_else(|error| error.report(), |()| ExitCode::SUCCESS)
    }
}

impl CommandError {
    /// Bad input: exit code 2.
    pub fn input(why: impl fmt::Display) -> Self {
        Self { message: why.to_string(), code: 2 }
    }

    /// Something went wrong while running: exit code 1.
    pub fn running(why: impl fmt::Display) -> Self {
        Self { message: why.to_string(), code: 1 }
    }

    /// Says it on stderr.
    pub fn report(&self) -> ExitCode {
        say(format_args!("error: {self}"));
        ExitCode::from(self.code)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Talk goes to stderr, beside the data on stdout. That nobody listens is no reason to fail.
fn say(words: fmt::Arguments<'_>) {
    let _unheard = writeln!(std::io::stderr(), "{words}");
}
