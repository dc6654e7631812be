//! The process of a webhook: its command line, its log and its spans. A webhook's `main` hands its app to [`run`],
//! which knows the commands `serve`, `manifests`, `review`, `certs` and `loglevel`. A binary with a command line of its
//! own, such as `vestibule`, takes the arguments of single commands ([`ServeArguments`], [`ManifestsArguments`]) into
//! its own:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use clap::{Parser, Subcommand};
//! use vestibule::App;
//! use vestibule_command::{ManifestsArguments, ServeArguments};
//!
//! #[derive(Parser)]
//! struct Arguments {
//!     /// Images have to come from here.
//!     #[arg(long, global = true, env = "REGISTRY", default_value = "registry.example.com/")]
//!     registry: String,
//!     #[command(subcommand)]
//!     command: Command,
//! }
//!
//! #[derive(Subcommand)]
//! enum Command {
//!     /// Serves the hooks.
//!     Serve(Box<ServeArguments>),
//!     /// Prints the objects that install the webhook; arguments after `--` are for `serve` in the pods.
//!     Manifests(Box<ManifestsArguments>),
//! }
//!
//! # fn app(registry: String) -> App { App::new("images") }
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     let Arguments { registry, command } = Arguments::parse();
//!     let app = app(registry);
//!     let done = match command {
//!         Command::Serve(arguments) => match arguments.init_logs(app.name()) {
//!             Ok(()) => arguments.serve(app).await.map(|()| ExitCode::SUCCESS),
//!             Err(error) => Err(error),
//!         },
//!         Command::Manifests(arguments) => arguments.run(&app),
//!     };
//!     done.unwrap_or_else(|error| error.report())
//! }
//! ```
//!
//! To read the code, start with `serve.rs`. Each command has a file of its name (`serve`, `manifests`, `review`, `certs`,
//! `log_level`); `install.rs` is for the binary `vestibule` only. `*_arguments.rs` are groups of flags: `cluster_arguments.rs` has those
//! that `serve` and `manifests` share, and `connection.rs` those that select a cluster for all other commands. `logs/` writes the log
//! of the process, and `traces/` exports spans (feature `otel`).

mod certs;
mod client_auth_arguments;
mod cluster_arguments;
pub mod colour;
mod conflicts;
mod connection;
pub mod diff;
mod duration;
mod install;
mod limit_arguments;
mod log_arguments;
mod log_level;
mod logs;
mod manifests;
mod or_off;
mod outside_cluster;
mod own_namespace;
mod review;
mod rotation_arguments;
mod runtime;
mod serve;
mod shell_quote;
mod terminal_escape;
mod terminated;
#[cfg(feature = "otel")]
mod traces;
#[cfg(not(feature = "otel"))]
mod traces_without_exporter;
mod value_parsers;

use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use certs::CertsArguments;
pub use connection::{Connection, KubeconfigArguments};
pub use duration::duration;
pub use install::{InstallArguments, UninstallArguments};
pub use log_arguments::{finish_logs, init_logs};
pub use log_level::LogLevelArguments;
pub use manifests::ManifestsArguments;
pub use own_namespace::own_namespace;
pub use review::ReviewArguments;
pub use runtime::runtime;
pub use serve::ServeArguments;
pub use shell_quote::shell_quoted;
pub use value_parsers::namespace;
use value_parsers::{image, kubeconfig_help};

use terminal_escape::escape_lines;
#[cfg(not(feature = "otel"))]
use traces_without_exporter as traces;
use vestibule::App;
pub use vestibule_manifests::Installation;

/// The error of a command. Its exit code is 1 for an error while running, 2 for bad input, 3 for a cluster or server
/// that does not answer.
#[derive(Debug)]
pub struct CommandError {
    message: String,
    code: u8,
}

/// The heading of flags that only some builds accept.
const TRACES: &str = "Traces";

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
    /// Prints the objects that install the webhook: pods, rights, configurations.
    ///
    /// Example: manifests --namespace shop --image registry.example.com/my-webhook:1.0 | kubectl apply -f -
    ///
    /// Example: manifests --namespace shop --image registry.example.com/my-webhook:1.0 --check deploy
    Manifests(Box<ManifestsArguments>),
    /// Answers one AdmissionReview from stdin with the hook it is for, and shows the answer.
    ///
    /// The exit code is the verdict: 0 when the request goes on, changed or not; 1 when it is denied; 2 for a fault, which
    /// leaves it to the failurePolicy, and for input that is no review. Selectors and match conditions are not evaluated:
    /// that is the API server's work.
    ///
    /// Example: review < review.json
    Review(ReviewArguments),
    Certs(CertsArguments),
    Loglevel(LogLevelArguments),
}

/// Reads the command line and runs its command: `serve`, `manifests`, `review`, `certs` or `loglevel`. `--help` lists the
/// options.
///
/// An error is printed on stderr. The exit code is 2 for bad input, 3 for a cluster or server that does not answer, 1 for any
/// other error and for differences that `--check` found.
///
/// ```no_run
/// # use k8s_openapi::api::core::v1::Pod;
/// # use vestibule::Operation::Create;
/// # use vestibule::{App, Context, Reject, on, FailurePolicy};
/// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
/// #[tokio::main]
/// async fn main() -> std::process::ExitCode {
///     let app = App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
///     vestibule_command::run(app).await
/// }
/// ```
pub async fn run(app: App) -> ExitCode {
    let name = app.name().to_owned();
    let matches = command_line(&name).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match arguments.command {
        Command::Serve(arguments) => {
            async {
                arguments.init_logs(app.name())?;
                arguments.serve(app).await.map(|()| ExitCode::SUCCESS)
            }
            .await
        }
        Command::Manifests(arguments) => arguments.run(&app),
        Command::Review(arguments) => arguments.run(&app).await,
        Command::Certs(arguments) => arguments.run().await,
        Command::Loglevel(arguments) => arguments.run(app.name()).await,
    };
    done.unwrap_or_else(|error| error.report())
}

/// The command line of the binary `name`.
fn command_line(name: &str) -> clap::Command {
    with_own_examples(Arguments::command(), name).name(name.to_owned()).bin_name(name)
}

/// The examples in the help are those of the binary `vestibule`, which has the same commands.
fn with_own_examples(command: clap::Command, name: &str) -> clap::Command {
    let examples =
        command.get_after_help().map(|help| help.to_string().replace("vestibule ", &format!("{name} ")));
    let command = command.mut_subcommands(|subcommand| with_own_examples(subcommand, name));
    match examples {
        Some(examples) => command.after_help(examples),
        None => command,
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

    /// A cluster or server that does not answer: exit code 3.
    pub fn unreachable(why: impl fmt::Display) -> Self {
        Self { message: why.to_string(), code: 3 }
    }

    /// Prints the error on stderr, and returns the exit code.
    pub fn report(&self) -> ExitCode {
        say(format_args!("error: {}", escape_lines(&self.message)));
        ExitCode::from(self.code)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Prints a message on stderr; stdout is for data. A closed stderr is no error.
pub fn say(message: impl fmt::Display) {
    let _closed = writeln!(std::io::stderr(), "{message}");
}

/// Prints data on stdout. A reader that closes the pipe early, as `head` does, is no error.
///
/// # Errors
/// Stdout cannot be written.
pub fn print(data: &str) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout();
    match stdout.write_all(data.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CommandError::running(format_args!("stdout cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// An object as kubectl writes it: members sorted, strings on their line.
pub(crate) fn yaml(object: &serde_json::Value) -> Result<String, CommandError> {
    let mut options = serde_saphyr::SerializerOptions::default();
    options.folded_wrap_chars = usize::MAX;
    serde_saphyr::to_string_with_options(object, options).map_err(CommandError::running)
}

/// The kind and the name of an object, on one line: `Deployment shop/injector`.
pub(crate) fn title(object: &serde_json::Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    terminal_escape::escape(&match text("/metadata/namespace") {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    })
}

#[cfg(test)]
mod tests;
