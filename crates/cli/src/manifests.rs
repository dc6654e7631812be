//! `manifests`: the objects that install and register the injector.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use vestibule::App;
use vestibule::admission::keys;
use vestibule_command::{CommandError, Installation, ManifestsArguments};
use vestibule_injector::{CONFIG_LABEL, Configuration, Namespaces, config_map_data, registration};
use vestibule_rules::{
    API_VERSION, CustomResource, NAMESPACE_NAME, OWN_POD_LABEL, Rule, RuleSet, custom_resource,
};

use crate::lagging_pods::LaggingPods;
use crate::rules;
use crate::{Failure, files, say};

/// Prints the objects that register the injector with an API server, as YAML.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:
  vestibule manifests --only registration --rules examples/rules/env-target.yaml \\
    --service webhooks/injector --identity local:identity | kubectl apply -f -
  vestibule manifests --namespace webhooks --image IMAGE | kubectl apply -f -
  vestibule manifests --rules examples/rules/env-target.yaml --namespace webhooks --image IMAGE --check deploy")]
pub(crate) struct Arguments {
    /// A file of rules, or a folder of them (*.yaml, *.yml, *.json), for a ConfigMap beside the injector; ConfigMap manifests are
    /// read for the rules in them. May be given several times. On a cluster rules may also be applied as objects.
    #[arg(long, env = "VESTIBULE_RULES", value_name = "PATH")]
    rules: Vec<PathBuf>,
    #[command(flatten)]
    lagging_pods: LaggingPods,
    #[command(flatten)]
    manifests: ManifestsArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let paths = &arguments.rules;
    if files::has_stdin(paths) {
        return Err(CommandError::input(
            "the rules of manifests are files: `--rules -` is for other commands",
        )
        .into());
    }
    let rules = rules::load(paths)?;
    let texts = config_map_data(paths).map_err(rules::unusable)?;
    rules.warnings().iter().for_each(say);
    let app_without_cluster = app(rules.clone())?;
    let Some(namespace) = arguments.manifests.namespace(&app_without_cluster)? else {
        if paths.is_empty() {
            return Err(
                CommandError::input("where are the rules? name a file or folder with --rules PATH").into()
            );
        }
        registration::entries(&rules).map_err(Failure::Findings)?;
        return Ok(arguments.manifests.run(&app_without_cluster)?);
    };
    // On a cluster the injector reads rules from ConfigMaps.
    let rules = rules.with_own_namespace(&namespace);
    registration::entries(&rules).map_err(Failure::Findings)?;
    if is_left_alone(&rules, &namespace) {
        say(format_args!(
            "note: rules leave {namespace}, the injector's own namespace, alone; `ownNamespace: inject` in the \
             InjectorSettings opens it to them"
        ));
    }
    let app = app(arguments.lagging_pods.apply(Configuration::installed(rules, &namespace)))?;
    Ok(arguments.manifests.run_with(&app, |installation| {
        of_injector(installation);
        installation.arguments.extend(arguments.lagging_pods.argument());
        let name = format!("{}-rules", installation.name);
        installation.objects.extend((!texts.is_empty()).then(|| {
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": namespace, "labels": {CONFIG_LABEL: "true"}},
                "data": texts,
            })
        }));
    })?)
}

/// The additions of the injector to the installation of any webhook.
pub(crate) fn of_injector(installation: &mut Installation) {
    installation.definitions = custom_resource::definitions(keys::schema("", "v1", "Pod"));
    installation.objects.push(namespaced_role(&installation.name));
    // The label excludes the injector's own pods from its rules.
    installation.pod_labels.insert(OWN_POD_LABEL.to_owned(), "true".to_owned());
}

/// The rights to rules of namespaces, for everyone who may create pods in a namespace: such a rule acts with the rights of the pods
/// there.
fn namespaced_role(name: &str) -> Value {
    let (group, _) = API_VERSION.split_once('/').unwrap_or_default();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": format!("{name}-namespacedinjections-edit"),
            "labels": {
                "rbac.authorization.k8s.io/aggregate-to-admin": "true",
                "rbac.authorization.k8s.io/aggregate-to-edit": "true",
            },
        },
        "rules": [{
            "apiGroups": [group],
            "resources": [CustomResource::NamespacedInjection.plural()],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
        }],
    })
}

/// Whether a note about the injector's own namespace is useful: a rule names that namespace, or it is `default`, which holds
/// other pods too.
fn is_left_alone(rules: &RuleSet, own: &str) -> bool {
    let named = |rule: &Rule| {
        let names = rule.namespace_selector().by_label().remove(NAMESPACE_NAME);
        names.is_some_and(|names| names.listed().is_some_and(|listed| listed.contains(own)))
    };
    !rules.settings().own_namespace && (own == "default" || rules.rules().iter().any(named))
}

/// The app to register. The labels of namespaces do not matter here, so they are empty.
pub(crate) fn app(configuration: impl Into<Configuration>) -> Result<App, CommandError> {
    let namespaces = Namespaces::labelled::<String, String>([]);
    vestibule_injector::app(configuration, namespaces).map_err(CommandError::input)
}
