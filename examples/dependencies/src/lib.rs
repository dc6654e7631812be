//! Objects are denied until the objects they refer to exist: a Deployment waits for its ConfigMaps and Secrets, a [`Site`] for more.

mod site;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use kube::CustomResourceExt;
use kube::core::PartialObjectMeta;
use serde_json::Value;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Change, Context, FailurePolicy, Reject, Rule, deny, on, on_rules};

pub use site::{Site, SiteSpec};

/// Two hooks. Of Secrets only metadata is read, without a cache: a Secret that was just deleted is missing.
pub fn app() -> App {
    let deployments = on_rules([Rule::new("apps/v1", "deployments", [Create, Update])]);
    App::new("dependencies")
        .definition(Site::crd())
        .read::<PartialObjectMeta<ConfigMap>>()
        .read::<PartialObjectMeta<Secret>>()
        .read::<PersistentVolumeClaim>()
        .read::<Service>()
        .validate("deployments", deployments.failure_policy(FailurePolicy::Fail), deployment)
        .validate("sites", on::<Site>([Create]).failure_policy(FailurePolicy::Fail), site::validate)
}

async fn deployment(change: Change<Value>, context: Context) -> Result<(), Reject> {
    let (named, before) = match change {
        Change::Create { new } => (references(&new), References::new()),
        // Earlier references are not checked: otherwise a Deployment could not be updated after its Secret was deleted.
        Change::Update { old, new } => (references(&new), references(&old)),
        _ => return Ok(()),
    };
    let mut missing = Vec::new();
    for ((kind, name), fields) in named.into_iter().filter(|(object, _)| !before.contains_key(object)) {
        let there = match kind {
            "Secret" => context.lookup::<PartialObjectMeta<Secret>>().get(&name).await?.is_some(),
            _ => context.lookup::<PartialObjectMeta<ConfigMap>>().get(&name).await?.is_some(),
        };
        if !there {
            missing.extend(fields.into_iter().map(|field| (field, format!("{kind} {name} does not exist"))));
        }
    }
    all_there(missing)
}

/// Denies with all missing objects: the field of each reference, and the problem with the object.
fn all_there(missing: Vec<(String, String)>) -> Result<(), Reject> {
    let mut words: Vec<_> = missing.iter().map(|(_, what)| what.as_str()).collect();
    words.dedup();
    let (denial, nothing) = (deny(words.join(", ")), missing.is_empty());
    let denial = missing.into_iter().fold(denial, |denial, (field, what)| denial.field(field, what));
    if nothing { Ok(()) } else { Err(denial) }
}

/// Objects by kind and name, and the fields that name them.
type References = BTreeMap<(&'static str, String), Vec<String>>;

fn references(deployment: &Value) -> References {
    let mut found = References::new();
    collect(&deployment["spec"]["template"]["spec"], "", "spec.template.spec", &mut found);
    found
}

/// In a pod's spec the name of a member tells the kind of the object named below it. Optional references are skipped.
fn collect(value: &Value, kind: &'static str, path: &str, found: &mut References) {
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        collect(item, kind, &format!("{path}[{index}]"), found);
    }
    let name = value["name"].as_str().or(value["secretName"].as_str());
    if let Some(name) = name.filter(|_| !kind.is_empty() && value["optional"] != true) {
        found.entry((kind, name.to_owned())).or_default().push(path.to_owned());
    }
    for (member, value) in value.as_object().into_iter().flatten() {
        let kind = match member.as_str() {
            "configMap" | "configMapRef" | "configMapKeyRef" => "ConfigMap",
            "secret" | "secretRef" | "secretKeyRef" | "nodePublishSecretRef" => "Secret",
            "imagePullSecrets" | "azureFile" => "Secret",
            _ => "",
        };
        collect(value, kind, &format!("{path}.{member}"), found);
    }
}
