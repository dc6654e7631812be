//! `certs rotate` and `certs revoke`: asking the replicas of a ring.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use vestibule_identity::NamespacedName;

use super::ring_arguments::RingArguments;
use super::ring_command::{PendingCommand, RingCommand};
use super::time::span;
use crate::shell_quote::program;
use crate::{CommandError, say};

#[derive(Args, Clone, Debug)]
pub(super) struct RequestArguments {
    #[command(flatten)]
    ring: RingArguments,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Wait until it is done, or until --timeout has passed (exit code 1). The request stays in force after that.
    #[arg(long)]
    wait: bool,
    /// How long to --wait.
    #[arg(long, default_value = "10m", value_parser = crate::duration::duration, requires = "wait")]
    timeout: Duration,
}

impl RequestArguments {
    pub(super) async fn run(&self, command: RingCommand) -> Result<ExitCode, CommandError> {
        let ring = self.ring.connect().await?;
        if !self.yes && !is_confirmed(command, &ring.secret)? {
            say("nothing was changed");
            return Ok(ExitCode::from(1));
        }
        let objects = ring.objects();
        let pending = command.write(&objects, &ring.secret).await;
        let pending = pending.map_err(|error| ring.failed(error))?;
        say(request_message(&pending));
        if !self.wait {
            say(format_args!("see it done: {} certs show --secret {}", program(), ring.secret));
            return Ok(ExitCode::SUCCESS);
        }
        say(format_args!("waiting for it, {} at most", span(self.timeout)));
        match tokio::time::timeout(self.timeout, pending.done(&objects)).await {
            Ok(done) => {
                done.map_err(|error| ring.failed(error))?;
                say(done_message(command));
                Ok(ExitCode::SUCCESS)
            }
            Err(_) => Err(CommandError::running(format_args!(
                "not done after {}: is a replica running? Its log says what it waits for. The request stands; see it done: \
                 {} certs show --secret {}",
                span(self.timeout),
                program(),
                ring.secret
            ))),
        }
    }
}

/// Asks for confirmation on the terminal. Without a terminal, `--yes` is needed.
fn is_confirmed(command: RingCommand, secret: &NamespacedName) -> Result<bool, CommandError> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(CommandError::input("there is no terminal for the confirmation: give --yes"));
    }
    confirm(command, secret, stdin.lock(), io::stderr()).map_err(CommandError::running)
}

/// Only `y` or `yes` is a yes; the end of the input is none.
fn confirm(
    command: RingCommand,
    secret: &NamespacedName,
    mut answers: impl BufRead,
    mut screen: impl Write,
) -> io::Result<bool> {
    let consequences = match command {
        RingCommand::Revoke => format!(
            "New CAs for the ring in Secret {secret}, and no more trust in the present ones: about three minutes, in which \
             API servers that learn late may refuse the webhook."
        ),
        RingCommand::Rotate => format!(
            "The next CA of the ring in Secret {secret} signs from now on, or as soon as every API server knows it. No \
             call fails."
        ),
    };
    write!(screen, "{consequences}\nGo on? [y/N] ")?;
    screen.flush()?;
    let mut answer = String::new();
    if answers.read_line(&mut answer)? == 0 {
        writeln!(screen)?;
    }
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn request_message(pending: &PendingCommand) -> String {
    let secret = &pending.secret;
    match pending.command {
        RingCommand::Revoke => format!(
            "asked the replicas of the ring in Secret {secret} for new CAs; the present CAs are removed when they are replaced"
        ),
        RingCommand::Rotate if pending.next_is_held => {
            format!(
                "asked the replicas of the ring in Secret {secret} for a rotation: the next CA is known everywhere, so within seconds"
            )
        }
        RingCommand::Rotate => format!(
            "asked the replicas of the ring in Secret {secret} for a rotation: the next CA is too young to be known \
             everywhere, so it begins to sign when it was published for `hold` (a day unless set otherwise)"
        ),
    }
}

fn done_message(command: RingCommand) -> &'static str {
    match command {
        RingCommand::Revoke => "done: none of the former CAs is trusted any more",
        RingCommand::Rotate => {
            "done: another CA signs now; the former one stays trusted until the last certificate that it signed has ended"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_confirms() {
        let secret: NamespacedName = "demo/hooks-ring".parse().unwrap();
        for (typed, is_yes) in [
            ("y\n", true),
            ("Y\r\n", true),
            (" yes \n", true),
            ("yes", true),
            ("\n", false),
            ("", false),
            ("no\ny\n", false),
            ("yess\n", false),
        ] {
            for command in [RingCommand::Rotate, RingCommand::Revoke] {
                let mut screen = Vec::new();
                assert_eq!(
                    confirm(command, &secret, typed.as_bytes(), &mut screen).unwrap(),
                    is_yes,
                    "{typed:?}"
                );
                let screen = String::from_utf8(screen).unwrap();
                assert!(screen.contains("Secret demo/hooks-ring"), "{screen}");
                assert!(screen.trim_end().ends_with("Go on? [y/N]"), "{screen}");
            }
        }
    }
}
