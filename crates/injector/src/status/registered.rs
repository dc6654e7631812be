//! Whether the API server calls the injector for the rules in force.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};
use serde_json::Value;
use vestibule::identity::RegistrationKind;
use vestibule::tooling::Entries;

/// Whether every webhook configuration has the entries that it should have. Manifests with static entries are not checked.
pub(super) async fn is(client: &Client, entries: &Entries) -> bool {
    let configurations = Api::<MutatingWebhookConfiguration>::all(client.clone());
    let desired = entries.desired();
    for desired in desired.iter().filter(|it| it.registration().kind == RegistrationKind::Mutating) {
        let Ok(found) = configurations.get(&desired.registration().name).await else { return false };
        let found = found.webhooks.iter().flatten().filter_map(|entry| serde_json::to_value(entry).ok());
        let found: Vec<Value> = found.collect();
        let is_there = |entry: &Value| found.iter().any(|found| contains(found, entry));
        if found.len() != desired.entries().len() || !desired.entries().iter().all(is_there) {
            return false;
        }
    }
    true
}

/// Whether every field of `part` has the same value in `whole`, to which the API server adds defaults and the `caBundle`.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}
