//! What the API server must know to call the hooks.

use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};

use crate::selector;
use crate::{FailurePolicy, Rule, Target};

/// Namespaces that must come up before any webhook can.
const SYSTEM_NAMESPACES: [&str; 3] = ["kube-node-lease", "kube-public", "kube-system"];

/// The webhook configurations of an [`App`](crate::App), ready to apply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Registration {
    /// The mutating hooks, if there are any.
    pub mutating: Option<MutatingWebhookConfiguration>,
    /// The validating hooks, if there are any.
    pub validating: Option<ValidatingWebhookConfiguration>,
}

/// One hook, as far as the API server cares.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) rules: Vec<Rule>,
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) timeout_seconds: u8,
}

impl Registration {
    pub(crate) fn new<'e>(
        name: &str,
        mutating: impl Iterator<Item = &'e Entry>,
        validating: impl Iterator<Item = &'e Entry>,
        target: &Target,
        ca_bundle: &str,
    ) -> Self {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let mutating: Vec<_> = mutating.map(|entry| entry.mutating(name, target, ca_bundle)).collect();
        let validating: Vec<_> = validating.map(|entry| entry.validating(name, target, ca_bundle)).collect();
        let mutating = Some(mutating).filter(|webhooks| !webhooks.is_empty());
        let validating = Some(validating).filter(|webhooks| !webhooks.is_empty());
        Self {
            mutating: mutating.map(|webhooks| MutatingWebhookConfiguration {
                metadata: metadata.clone(),
                webhooks: Some(webhooks),
            }),
            validating: validating
                .map(|webhooks| ValidatingWebhookConfiguration { metadata, webhooks: Some(webhooks) }),
        }
    }

    /// The objects as JSON, for printing and for clients that take any object.
    pub fn objects(&self) -> Vec<Value> {
        let mutating = self.mutating.iter().map(|object| json!(object));
        let validating = self.validating.iter().map(|object| json!(object));
        mutating.chain(validating).collect()
    }

    /// The names of the objects, with their kinds.
    pub fn names(&self) -> Vec<(&'static str, String)> {
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        let mutating =
            self.mutating.iter().map(|it| (MutatingWebhookConfiguration::KIND, name(&it.metadata)));
        let validating =
            self.validating.iter().map(|it| (ValidatingWebhookConfiguration::KIND, name(&it.metadata)));
        mutating.chain(validating).collect()
    }
}

impl Entry {
    fn mutating(&self, app: &str, target: &Target, ca_bundle: &str) -> MutatingWebhook {
        MutatingWebhook {
            name: self.qualified_name(app),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: target.client_config(&self.path, ca_bundle),
            failure_policy: Some(self.failure_policy()),
            match_policy: Some("Equivalent".to_owned()),
            namespace_selector: Some(self.namespace_selector(target)),
            object_selector: Some(self.objects.clone()),
            // Others may change the object after us; called again, a handler that is done answers with nothing.
            reinvocation_policy: Some("IfNeeded".to_owned()),
            rules: Some(self.rules()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(i32::from(self.timeout_seconds)),
            match_conditions: None,
        }
    }

    fn validating(&self, app: &str, target: &Target, ca_bundle: &str) -> ValidatingWebhook {
        ValidatingWebhook {
            name: self.qualified_name(app),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: target.client_config(&self.path, ca_bundle),
            failure_policy: Some(self.failure_policy()),
            match_policy: Some("Equivalent".to_owned()),
            namespace_selector: Some(self.namespace_selector(target)),
            object_selector: Some(self.objects.clone()),
            rules: Some(self.rules()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(i32::from(self.timeout_seconds)),
            match_conditions: None,
        }
    }

    /// The API server asks for three segments, and its metrics know hooks by this name alone.
    pub(crate) fn qualified_name(&self, app: &str) -> String {
        format!("{}.{app}.vestibule.dev", self.name)
    }

    fn failure_policy(&self) -> String {
        match self.failure_policy {
            FailurePolicy::Open => "Ignore".to_owned(),
            FailurePolicy::Closed => "Fail".to_owned(),
        }
    }

    /// The webhook must never stand in the way of what it needs to come up itself.
    fn namespace_selector(&self, target: &Target) -> LabelSelector {
        let mut excluded: Vec<String> = SYSTEM_NAMESPACES.map(str::to_owned).into();
        excluded.extend(target.own_namespace().map(str::to_owned));
        excluded.sort();
        excluded.dedup();
        let mut selector = self.namespaces.clone();
        selector::exclude(&mut selector, "kubernetes.io/metadata.name", excluded);
        selector
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let rule = |rule: &Rule| RuleWithOperations {
            api_groups: Some(vec![rule.group.clone()]),
            api_versions: Some(vec![rule.version.clone()]),
            operations: Some(rule.operations.iter().map(ToString::to_string).collect()),
            resources: Some(vec![rule.resource.clone()]),
            scope: None,
        };
        self.rules.iter().map(rule).collect()
    }
}
