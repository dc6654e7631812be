//! `schema`, `completions` and `man`: generate files for editors and shells.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use vestibule_command::CommandError;
use vestibule_injector::files::printable_path;

use crate::{Failure, print};

/// Prints the completions of a shell.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule completions bash > /etc/bash_completion.d/vestibule
  vestibule completions zsh > \"${fpath[1]}/_vestibule\"
  vestibule completions fish > ~/.config/fish/completions/vestibule.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes the manual pages, one for each command.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule man --dir /usr/local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The folder to write to; it is made if it does not exist.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn schema() -> Result<ExitCode, Failure> {
    print(&vestibule_rules::schema::json(vestibule::admission::keys::schema("", "v1", "Pod")))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> Result<ExitCode, Failure> {
    let failed = |error| {
        let dir = printable_path(&arguments.dir);
        CommandError::running(format_args!("cannot write the manual pages to {dir}: {error}"))
    };
    std::fs::create_dir_all(&arguments.dir).map_err(failed)?;
    clap_mangen::generate_to(command, &arguments.dir).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
