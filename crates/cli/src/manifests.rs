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
  vestibule manifests --rules examples/rules/env-target.yaml --namespace webhooks --image IMAGE | kubectl apply -f -
  vestibule manifests --rules examples/rules/env-target.yaml --namespace webhooks --image IMAGE --check deploy")]
pub(crate) struct Arguments {
    #[command(flatten)]
    rules: RulesPath,
    #[command(flatten)]
    manifests: ManifestsArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let rules = rules::load(&arguments.rules.rules)?;
    rules.warnings().iter().for_each(say);
    vestibule_injector::registration::entries(&rules).map_err(Failure::Findings)?;
    // Who knows the namespaces' labels matters to `serve`; the registration is the same whoever it is.
    let anybody = Namespaces::labelled::<String, String>([]);
    let app = vestibule_injector::app(rules, anybody).map_err(CommandError::input)?;
    let files = arguments.rules.files().map_err(CommandError::input)?;
    let mut path = files.folder.clone();
    // A folder's rules are known by their files' endings; a file that is named is read whatever it is called.
    if let (false, Some(name)) = (arguments.rules.rules.is_dir(), files.contents.keys().next()) {
        path = format!("{path}/{name}");
    }
    Ok(arguments.manifests.run_with(&app, |installation| {
        installation.arguments.insert(0, format!("--rules={path}"));
        // Rules never apply to the injector itself.
        installation.pod_labels.insert("vestibule.dev/injector".to_owned(), "true".to_owned());
        installation.files.push(files);
    })?)
}
