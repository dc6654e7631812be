//! `install` and `uninstall`: the injector on a cluster, without another tool.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use vestibule::App;
use vestibule_command::{CommandError, InstallArguments, UninstallArguments};
use vestibule_injector::Configuration;
use vestibule_rules::RuleSet;

use crate::lagging_pods::LaggingPods;
use crate::{Failure, block_on, manifests};

/// The image of this version. `vestibule manifests` and the files in deploy/ name the same.
pub(crate) const IMAGE: &str = concat!("ghcr.io/vestibule-dev/vestibule:", env!("CARGO_PKG_VERSION"));

/// Installs the injector on a cluster, or upgrades it: applies its objects, and waits until the API server calls it.
///
/// Nothing is changed if the API server would refuse an object, such as for a missing right. For other settings there are
/// `vestibule manifests`, deploy/install.yaml, and a Helm chart in deploy/helm.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule install --dry-run
  vestibule install --image registry.example.com/vestibule:0.1.0
  kubectl apply -f rule.yaml")]
pub(crate) struct Install {
    #[command(flatten)]
    install: InstallArguments,
}

/// Removes the injector from a cluster. Rules and the namespace stay, unless --all is given.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  vestibule uninstall --dry-run
  vestibule uninstall --all")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    uninstall: UninstallArguments,
}

impl Install {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let app = app(self.install.namespace())?;
        block_on(self.install.run(&app, IMAGE, &refused(), manifests::of_injector))
    }
}

impl Uninstall {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        // The names of the objects do not depend on the namespace.
        let app = app("default")?;
        block_on(self.uninstall.run(&app, written().into(), manifests::of_injector))
    }
}

/// The injector in `namespace`, without rules: these are applied as objects.
fn app(namespace: &str) -> Result<App, CommandError> {
    let rules = RuleSet::default().with_own_namespace(namespace);
    manifests::app(LaggingPods::default().apply(Configuration::installed(rules, namespace)))
}

/// The objects that replicas make: the CA ring, the last good rules, and a Lease for each replica.
fn written() -> [Value; 3] {
    [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "injector-ring"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "injector-last-good"}}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"labels": {"vestibule.dev/replica": "true"}}}),
    ]
}

/// A rule that the definition's schema accepts and the injector refuses.
fn refused() -> Value {
    let mount = json!({"name": "none", "mountPath": "/none", "notAField": "none"});
    json!({
        "apiVersion": "vestibule.dev/v1alpha1",
        "kind": "Injection",
        "metadata": {"name": "vestibule-install-probe"},
        "spec": {"sidecars": [{"name": "none", "image": "none", "volumeMounts": [mount]}]},
    })
}
