//! `serve`: the injector over HTTPS.

use std::process::ExitCode;

use clap::Args;
use vestibule::command::{CommandError, ServeArguments, init_logs};
use vestibule_injector::Namespaces;

use crate::Failure;
use crate::rules::{self, Labels, RulesPath};

/// Serves rules to an API server over HTTPS, until SIGTERM has drained it or Ctrl-C ends it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule serve --rules examples/rules/env-target.yaml --listen 127.0.0.1:10250 --identity local:identity
  vestibule serve --rules /rules --identity self --service webhooks/injector

The first line of the log says where it listens, which names its certificate is for, and which hooks it serves.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    rules: RulesPath,
    /// Labels of every namespace, for rules that ask: `injection=enabled,...`. For laptops; no cluster is asked then.
    #[arg(long, value_name = "K=V,...", value_parser = Labels::parse)]
    namespace_labels: Option<Labels>,
    #[command(flatten)]
    serve: ServeArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut rules = rules::load(&arguments.rules.rules)?;
    if let Some(own) = arguments.serve.namespace() {
        rules = rules.with_own_namespace(own);
    }
    init_logs();
    for warning in rules.warnings() {
        tracing::warn!("{}", warning.headline());
    }
    let runtime = tokio::runtime::Runtime::new().map_err(CommandError::running)?;
    runtime.block_on(async {
        let namespaces = arguments.namespaces(rules.needs_namespace_facts()).await?;
        let app = vestibule_injector::app(rules, namespaces).map_err(CommandError::input)?;
        arguments.serve.serve(app).await?;
        Ok(ExitCode::SUCCESS)
    })
}

impl Arguments {
    async fn namespaces(&self, needed: bool) -> Result<Namespaces, CommandError> {
        if let Some(labels) = &self.namespace_labels {
            return Ok(Namespaces::labelled(labels.0.clone()));
        }
        let in_a_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        let kubeconfig = self.serve.kubeconfig();
        // A kubeconfig may be there for the ring alone, with no right to read namespaces.
        let meant = kubeconfig.is_some() && !self.serve.keeps_a_ring();
        if !meant && !(needed && (in_a_pod || kubeconfig.is_some())) {
            return Ok(Namespaces::unknown());
        }
        Namespaces::connect(kubeconfig).await.map_err(CommandError::input)
    }
}
