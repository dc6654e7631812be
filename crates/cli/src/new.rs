//! `new`: files to start from. The crate of a webhook is in [`webhook`].

mod webhook;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use vestibule_command::CommandError;
use vestibule_injector::files::printable_path;

use self::webhook::WebhookArguments;
use crate::{Failure, say};

/// Writes files to start from: the crate of a webhook, or a rule.
///
/// `new NAME` writes a crate with one hook, its tests, also on a real API server, a Dockerfile, a workflow and a README. `new rule
/// NAME` writes a rule and its test cases. The exit code is 2 if a file exists already or the name cannot be used.
#[derive(Args, Clone, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  vestibule new my-webhook --validating
  vestibule new rule banner --dir rules
  vestibule lint rules && vestibule test rules/tests"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    webhook: WebhookArguments,
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

const EXISTS: &str = "the file exists already";

/// The name in the templates.
const NAME: &str = "greeting";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = match &arguments.what {
        Some(What::Rule { name, dir }) => rule(name, dir)?,
        None => arguments.webhook.files()?,
    };
    let failed =
        |path: &Path, why: &str| CommandError::input(format_args!("{}: {why}", printable_path(path)));
    // Before the first file is written, so that none is written without the others.
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(failed(path, EXISTS).into());
    }
    for (path, text) in &files {
        write(path, text).map_err(|why| failed(path, &why))?;
        say(format_args!("wrote {}", printable_path(path)));
    }
    if !webhook::format(files.iter().map(|(path, _)| path.as_path())) {
        say("note: there is no rustfmt here; `cargo fmt` formats the crate");
    }
    Ok(ExitCode::SUCCESS)
}

/// A rule and its test cases.
fn rule(name: &str, dir: &Path) -> Result<Vec<(PathBuf, String)>, CommandError> {
    // The name becomes part of a path.
    vestibule_rules::syntax::name(name).map_err(|wanted| {
        CommandError::input(format_args!("`{name}` cannot be the name of a rule: {wanted}"))
    })?;
    let file = format!("{name}.yaml");
    let files = [(dir.to_owned(), RULE), (dir.join("tests"), CASES)];
    // `123` would be a number, and `null` no name.
    let quoted = vestibule_rules::yaml::from_json(&serde_json::json!(name).to_string());
    let quoted = format!("name: {}", quoted.as_deref().unwrap_or(name).trim_end());
    let field = format!("name: {NAME}");
    let text = |template: &str| {
        let parts: Vec<_> = template.split(&field).map(|part| part.replace(NAME, name)).collect();
        parts.join(&quoted)
    };
    Ok(files.map(|(folder, template)| (folder.join(&file), text(template))).into())
}

/// Writes a file that does not exist yet.
fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(|error| error.to_string())?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => EXISTS.to_owned(),
            _ => error.to_string(),
        })?;
    file.write_all(text.as_bytes()).map_err(|error| error.to_string())
}
