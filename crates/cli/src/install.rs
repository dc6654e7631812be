//! `install` and `uninstall`: the injector on a cluster, without another tool.

use std::process::ExitCode;

use serde_json::{Value, json};
use vestibule::App;
use vestibule_command::{CommandError, InstallArguments, UninstallArguments};
use vestibule_injector::Configuration;
use vestibule_rules::RuleSet;

use crate::lagging_pods::LaggingPods;
use crate::{Failure, block_on, manifests};

/// The image of this version. `vestibule manifests` and the files in deploy/ name the same.
pub(crate) const IMAGE: &str = concat!("ghcr.io/vestibule-dev/vestibule:", env!("CARGO_PKG_VERSION"));

pub(crate) fn install(arguments: &InstallArguments) -> Result<ExitCode, Failure> {
    let app = app(arguments.namespace())?;
    block_on(arguments.run(&app, IMAGE, &refused(), manifests::of_injector))
}

pub(crate) fn uninstall(arguments: &UninstallArguments) -> Result<ExitCode, Failure> {
    // The names of the objects do not depend on the namespace.
    let app = app("default")?;
    block_on(arguments.run(&app, written().into(), manifests::of_injector))
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
