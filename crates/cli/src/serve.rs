//! `serve`: the injector over HTTPS.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use vestibule::identity::{ClusterConfigError, connect};
use vestibule_command::{CommandError, ServeArguments, own_namespace, runtime};
use vestibule_injector::{CONFIG_LABEL, Configuration, NAME, Namespaces};

use crate::lagging_pods::LaggingPods;
use crate::rules::{Labels, unusable};
use crate::{Failure, files};

/// Serves rules to an API server over HTTPS, until SIGTERM has drained it or Ctrl-C ends it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule serve --rules examples/rules/env-target.yaml --listen 127.0.0.1:10250 --identity local:identity
  vestibule serve --identity self --service webhooks/injector

The first line of the log says where it listens, which names its certificate is for, and which hooks it serves.")]
pub(crate) struct Arguments {
    /// A file of rules, or a folder of them (*.yaml, *.yml, *.json), followed as they change; may be given several times.
    /// Without it, rules come from the ConfigMaps labelled vestibule.dev/config=true in the own namespace.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH")]
    rules: Vec<PathBuf>,
    /// Labels of every namespace, for rules that read them: `injection=enabled,...`. For laptops; no cluster is asked then.
    #[arg(long, value_name = "K=V,...", value_parser = Labels::parse)]
    namespace_labels: Option<Labels>,
    /// The threads to run on [default: one for each CPU that the process may use]
    #[arg(long, env = "VESTIBULE_WORKER_THREADS", value_name = "NUMBER")]
    worker_threads: Option<NonZero<usize>>,
    #[command(flatten)]
    lagging_pods: LaggingPods,
    #[command(flatten)]
    serve: ServeArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let runtime = runtime(arguments.worker_threads).map_err(CommandError::running)?;
    runtime.block_on(async {
        let (configuration, namespaces) = match arguments.rules.as_slice() {
            [] => arguments.of_config_maps().await?,
            paths => arguments.of_paths(paths).await?,
        };
        let app = vestibule_injector::app(configuration, namespaces).map_err(CommandError::input)?;
        arguments.serve.serve(app).await?;
        Ok(ExitCode::SUCCESS)
    })
}

impl Arguments {
    async fn of_paths(&self, paths: &[PathBuf]) -> Result<(Configuration, Namespaces), Failure> {
        if files::has_stdin(paths) {
            return Err(CommandError::input(
                "`serve` follows its rules as they change, and stdin is read once: name a file or folder",
            )
            .into());
        }
        // The log starts later, so errors in the rules are printed on the terminal.
        let configuration = Configuration::from_paths(paths, self.serve.namespace()).map_err(unusable)?;
        self.serve.init_logs(NAME)?;
        let snapshot = configuration.current();
        for finding in snapshot.findings() {
            tracing::warn!("{}", finding.headline());
        }
        let namespaces = self.namespaces(snapshot.rules().needs_namespace_facts()).await?;
        Ok((configuration, namespaces))
    }

    async fn of_config_maps(&self) -> Result<(Configuration, Namespaces), Failure> {
        let kubeconfig = self.serve.kubeconfig();
        let client = connect(kubeconfig).await.map_err(|error| {
            CommandError::input(format_args!(
                "where are the rules? name a file or folder with --rules PATH; ConfigMaps labelled \
                 {CONFIG_LABEL}=true are read from a cluster, and: {error}"
            ))
        })?;
        let namespace = match self.serve.namespace() {
            Some(namespace) => namespace.to_owned(),
            None => own_namespace(None, kubeconfig)?,
        };
        self.serve.init_logs(NAME)?;
        let namespaces = match &self.namespace_labels {
            Some(labels) => Namespaces::labelled(labels.0.clone()),
            // Rules in ConfigMaps may start to need labels of namespaces.
            None => Namespaces::watched(client.clone()),
        };
        Ok((self.lagging_pods.apply(Configuration::from_cluster(client, &namespace)), namespaces))
    }

    async fn namespaces(&self, needed: bool) -> Result<Namespaces, CommandError> {
        if let Some(labels) = &self.namespace_labels {
            return Ok(Namespaces::labelled(labels.0.clone()));
        }
        let kubeconfig = self.serve.kubeconfig();
        // A kubeconfig for the ring alone may have no right to read namespaces.
        if !needed && (kubeconfig.is_none() || self.serve.keeps_a_ring()) {
            return Ok(Namespaces::unknown());
        }
        let in_a_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        match connect(kubeconfig).await {
            // The error about missing facts is reported later, with the names of the rules.
            Err(ClusterConfigError::NoCluster { .. }) if !in_a_pod => Ok(Namespaces::unknown()),
            client => client.map(Namespaces::watched).map_err(CommandError::input),
        }
    }
}
