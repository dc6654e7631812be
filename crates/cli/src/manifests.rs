//! `manifests`: what a cluster must be told about the injector.

use std::process::ExitCode;

use clap::Args;
use vestibule::command::{CommandError, ManifestsArguments};
use vestibule_injector::Namespaces;

use crate::rules::{self, RulesPath};
use crate::{Failure, say};

/// Prints what registers the injector with an API server, as YAML.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule manifests --only registration --rules examples/rules/env-target.yaml \\
    --service webhooks/injector --identity local:identity | kubectl apply -f -
  vestibule manifests --rules examples/rules/env-target.yaml --service webhooks/injector --identity self")]
pub(crate) struct Arguments {
    #[command(flatten)]
    rules: RulesPath,
    #[command(flatten)]
    manifests: ManifestsArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let rules = rules::load(&arguments.rules.rules)?;
    rules.warnings().iter().for_each(say);
    // Who knows the namespaces' labels matters to `serve`; the registration is the same whoever it is.
    let anybody = Namespaces::labelled::<String, String>([]);
    let app = vestibule_injector::app(rules, anybody).map_err(CommandError::input)?;
    Ok(arguments.manifests.run(&app)?)
}
