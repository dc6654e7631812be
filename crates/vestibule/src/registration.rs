//! Webhook configurations, made of the hooks of an app.

pub(crate) mod entries;
pub(crate) mod name;
pub(crate) mod on;
pub(crate) mod rule;
pub(crate) mod selector;
pub(crate) mod target;

use std::collections::BTreeMap;

use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};
use vestibule_admission::HookKind;

use crate::registration::on::Declaration;
use crate::registration::on::choices::FailurePolicy;
use crate::registration::rule::Rule;
use crate::registration::target::Target;

/// Namespaces whose pods start before any webhook can.
const SYSTEM_NAMESPACES: [&str; 3] = ["kube-node-lease", "kube-public", "kube-system"];

/// The label that the API server sets on every namespace; its value is the name.
pub(crate) const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The webhook configurations, and the definitions, of an [`App`](crate::App), ready to apply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Registration {
    /// The mutating hooks, if there are any.
    pub mutating: Option<MutatingWebhookConfiguration>,
    /// The validating hooks, if there are any.
    pub validating: Option<ValidatingWebhookConfiguration>,
    /// The definitions of custom resources whose objects are converted.
    pub definitions: Vec<CustomResourceDefinition>,
    /// The `spec.conversion` of definitions that the app does not print, by their names.
    pub conversions: BTreeMap<String, CustomResourceConversion>,
}

/// One entry of a webhook configuration.
#[derive(Clone)]
pub struct HookEntry {
    /// The hook's name in the app.
    pub name: String,
    /// Mutating or validating.
    pub kind: HookKind,
    /// The path of the URL that the API server calls.
    pub path: String,
    /// The requests that it is called for, and the meaning of a failed call.
    pub on: Declaration,
}

impl Registration {
    /// The configurations of the kinds that are given, even without entries.
    pub(crate) fn new(
        name: &str,
        mutating: Option<&[HookEntry]>,
        validating: Option<&[HookEntry]>,
        target: &Target,
        ca_bundle: &str,
    ) -> Self {
        let metadata = || ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Self {
            mutating: mutating.map(|entries| MutatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(entries.iter().map(|entry| entry.mutating(name, target, ca_bundle)).collect()),
            }),
            validating: validating.map(|entries| ValidatingWebhookConfiguration {
                metadata: metadata(),
                webhooks: Some(
                    entries.iter().map(|entry| entry.validating(name, target, ca_bundle)).collect(),
                ),
            }),
            definitions: Vec::new(),
            conversions: BTreeMap::new(),
        }
    }

    /// The objects as JSON, for printing and for clients that take any object.
    pub fn objects(&self) -> Vec<Value> {
        let mutating = self.mutating.iter().map(|object| json!(object));
        let validating = self.validating.iter().map(|object| json!(object));
        let definitions = self.definitions.iter().map(|object| json!(object));
        mutating.chain(validating).chain(definitions).collect()
    }

    /// The names of the objects, with their kinds.
    pub fn names(&self) -> Vec<(&'static str, String)> {
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        let mutating =
            self.mutating.iter().map(|it| (MutatingWebhookConfiguration::KIND, name(&it.metadata)));
        let validating =
            self.validating.iter().map(|it| (ValidatingWebhookConfiguration::KIND, name(&it.metadata)));
        let definitions =
            self.definitions.iter().map(|it| (CustomResourceDefinition::KIND, name(&it.metadata)));
        mutating.chain(validating).chain(definitions).collect()
    }
}

impl HookEntry {
    pub(crate) fn new(name: &str, kind: HookKind, on: Declaration) -> Self {
        let path = on.path.clone().unwrap_or_else(|| format!("/{}/{name}", kind.verb()));
        Self { name: name.to_owned(), kind, path, on }
    }

    /// `failurePolicy`. The default is never used: a hook without a policy is refused by [`App::check`](crate::App::check).
    pub fn failure_policy(&self) -> FailurePolicy {
        self.on.failure_policy.unwrap_or(FailurePolicy::Fail)
    }

    fn mutating(&self, app: &str, target: &Target, ca_bundle: &str) -> MutatingWebhook {
        // Both kinds have the same fields, apart from the reinvocation policy.
        let same = self.validating(app, target, ca_bundle);
        MutatingWebhook {
            name: same.name,
            admission_review_versions: same.admission_review_versions,
            client_config: same.client_config,
            failure_policy: same.failure_policy,
            match_conditions: same.match_conditions,
            match_policy: same.match_policy,
            namespace_selector: same.namespace_selector,
            object_selector: same.object_selector,
            reinvocation_policy: Some(self.on.reinvocation.unwrap_or_default().to_string()),
            rules: same.rules,
            side_effects: same.side_effects,
            timeout_seconds: same.timeout_seconds,
        }
    }

    fn validating(&self, app: &str, target: &Target, ca_bundle: &str) -> ValidatingWebhook {
        ValidatingWebhook {
            name: self.qualified_name(app),
            admission_review_versions: self
                .on
                .review_versions
                .iter()
                .map(|it| it.as_str().to_owned())
                .collect(),
            client_config: target.client_config(&self.path, ca_bundle),
            failure_policy: Some(self.failure_policy().as_str().to_owned()),
            match_conditions: Some(self.on.match_conditions.clone())
                .filter(|conditions| !conditions.is_empty()),
            match_policy: Some(self.on.match_policy.to_string()),
            namespace_selector: Some(self.namespace_selector(target.own_namespace())),
            object_selector: Some(self.on.objects.clone()),
            rules: Some(self.rules()),
            side_effects: self.on.side_effects.to_string(),
            timeout_seconds: Some(i32::from(self.on.timeout_seconds)),
        }
    }

    /// The name of the entry. The API server requires three segments, and labels its metrics with it.
    pub fn qualified_name(&self, app: &str) -> String {
        self.on.qualified_name.clone().unwrap_or_else(|| format!("{}.{app}.vestibule.dev", self.name))
    }

    /// Excludes the system namespaces and the own one: the webhook must not block the pods that it needs to start.
    pub fn namespace_selector(&self, own_namespace: Option<&str>) -> LabelSelector {
        if self.on.system_namespaces {
            return self.on.namespaces.clone();
        }
        let mut excluded: Vec<String> = SYSTEM_NAMESPACES.map(str::to_owned).into();
        excluded.extend(own_namespace.filter(|_| !self.on.own_namespace).map(str::to_owned));
        excluded.sort();
        excluded.dedup();
        let mut selector = self.on.namespaces.clone();
        selector::exclude(&mut selector, NAMESPACE_NAME, excluded);
        selector
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let rule = |rule: &Rule| RuleWithOperations {
            api_groups: Some(vec![rule.group.clone()]),
            api_versions: Some(vec![rule.version.clone()]),
            operations: Some(rule.operations.iter().map(ToString::to_string).collect()),
            resources: Some(vec![rule.resource.clone()]),
            scope: Some(rule.scope.to_string()).filter(|scope| scope != "*"),
        };
        self.on.rules.iter().map(rule).collect()
    }
}
