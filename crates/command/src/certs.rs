//! `certs`: certificates made, checked, shown and renewed.

mod check;
mod new;
mod objects;
mod pair;
mod probe;
mod report_text;
mod ring_arguments;
mod ring_command;
mod rotate;
mod show;
mod time;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use vestibule_identity::NamespacedName;

use self::ring_command::RingCommand;
use self::rotate::RequestArguments;
use super::{CommandError, print};
use vestibule::tooling::is_dns_subdomain;

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
    /// Asks for a rotation: the next CA signs from now on, and one after it is made. No call fails meanwhile.
    ///
    /// Any replica does it, once every API server knows the next CA: at once if it was published long ago (`hold`, a day
    /// unless set otherwise), else as soon as that has passed.
    #[command(after_help = "Examples:
  vestibule certs rotate --service demo/hooks
  vestibule certs rotate --secret demo/hooks-ring --yes --wait")]
    Rotate(RequestArguments),
    /// Asks for a revocation, for keys that were lost or stolen: new CAs are made at once,
    /// and the present CAs are removed when they are replaced.
    ///
    /// It takes about `hold_cold` and two minutes more. API servers that learn late refuse the webhook's new certificate
    /// until they know the new CA; with `failurePolicy: Fail` their requests fail for that long.
    #[command(after_help = "Examples:
  vestibule certs revoke --service demo/hooks
  vestibule certs revoke --secret demo/hooks-ring --yes --wait")]
    Revoke(RequestArguments),
}

impl CertsArguments {
    /// Does what the command line says. Data goes to stdout, talk to stderr. The exit code is 0 when all is well, 1 when
    /// something was found.
    ///
    /// # Errors
    /// Invalid input (exit code 2), or a cluster or server that cannot be reached (3).
    pub async fn run(&self) -> Result<ExitCode, CommandError> {
        match &self.command {
            Command::New(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.run().await,
            Command::Rotate(arguments) => arguments.run(RingCommand::Rotate).await,
            Command::Revoke(arguments) => arguments.run(RingCommand::Revoke).await,
        }
    }
}

/// `NS/NAME`, or a `NAME` in `namespace`. A name that no object can have is refused before the cluster is asked.
fn object_name(text: &str, namespace: Option<&str>) -> Result<NamespacedName, CommandError> {
    let name = NamespacedName::parse_in(text, namespace).map_err(CommandError::input)?;
    for part in [&name.namespace, &name.name] {
        if !is_dns_subdomain(part) {
            return Err(CommandError::input(format_args!(
                "`{part}` cannot be an object's name: lower-case letters, digits, `-` and `.` make one"
            )));
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
