//! `new`: files to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use vestibule_command::CommandError;
use vestibule_injector::files::printable_path;

use crate::{Failure, say};

/// Writes files to start from.
///
/// The exit code is 2 if a file exists already or the name cannot be that of a rule.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule new rule banner --dir rules
  vestibule lint rules && vestibule test rules/tests")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Clone, Debug)]
enum What {
    /// A rule with comments, NAME.yaml, and its test cases, tests/NAME.yaml.
    Rule {
        /// The name of the rule.
        name: String,
        /// The folder to write to; it is made if there is none.
        #[arg(long, value_name = "DIR", default_value = ".")]
        dir: PathBuf,
    },
}

const RULE: &str = include_str!("new/rule.yaml");

const CASES: &str = include_str!("new/cases.yaml");

/// The name in the templates.
const NAME: &str = "greeting";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let What::Rule { name, dir } = &arguments.what;
    // The name becomes part of a path.
    vestibule_rules::syntax::name(name).map_err(|wanted| {
        CommandError::input(format_args!("`{name}` cannot be the name of a rule: {wanted}"))
    })?;
    let file = format!("{name}.yaml");
    for (folder, template) in [(dir.clone(), RULE), (dir.join("tests"), CASES)] {
        let path = folder.join(&file);
        write(&folder, &path, &template.replace(NAME, name))
            .map_err(|why| CommandError::input(format_args!("{}: {why}", printable_path(&path))))?;
        say(format_args!("wrote {}", printable_path(&path)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that does not exist yet.
fn write(folder: &Path, path: &Path, text: &str) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => "the file exists already".to_owned(),
            _ => error.to_string(),
        })?;
    file.write_all(text.as_bytes()).map_err(|error| error.to_string())
}
