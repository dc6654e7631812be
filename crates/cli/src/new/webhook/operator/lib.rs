//! Writes a ConfigMap for every greeting, and refuses greetings without words; start at [`app`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};

/// The words that the operator writes into a ConfigMap.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.dev", version = "v1", kind = "Greeting", namespaced)]
pub struct GreetingSpec {
    /// At least one word.
    pub text: String,
}

/// The definition, a validating hook, and the operator, which starts when the replica is ready.
pub fn app() -> App {
    let greetings = on::<Greeting>([Create, Update]).failure_policy(FailurePolicy::Fail);
    App::new("my-operator")
        .definition(Greeting::crd())
        .validate("words", greetings, words)
        .background(operate)
        .rights([
            right("example.dev", "greetings", &["get", "list", "watch"]),
            // For `blockOwnerDeletion` of an owner reference, on clusters that check it.
            right("example.dev", "greetings/finalizers", &["update"]),
            right("", "configmaps", &["get", "list", "watch", "create", "patch"]),
        ])
}

fn right(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    let list = |items: &[&str]| items.iter().map(ToString::to_string).collect();
    let (api_groups, resources) = (Some(list(&[group])), Some(list(&[resource])));
    PolicyRule { api_groups, resources, verbs: list(verbs), ..PolicyRule::default() }
}

/// Refuses a text of spaces.
async fn words(change: Change<Greeting>, _: Context) -> Result<(), Reject> {
    if change.object().is_some_and(|greeting| greeting.spec.text.trim().is_empty()) {
        return Err(deny("a greeting needs words").invalid().field("spec.text", "it has no word"));
    }
    Ok(())
}

/// Reconciles greetings. All replicas write the same, so they need no leader.
async fn operate(client: Client) {
    let greetings = Api::<Greeting>::all(client.clone());
    Controller::new(greetings, watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(async |outcome| {
            if let Err(error) = outcome {
                tracing::warn!(%error, "a greeting was not reconciled, next attempt in 5 s");
            }
        })
        .await;
}

async fn reconcile(greeting: Arc<Greeting>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let config_maps =
        Api::<ConfigMap>::namespaced((*client).clone(), &greeting.namespace().unwrap_or_default());
    let name = greeting.name_any();
    let wanted = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "ownerReferences": [greeting.controller_owner_ref(&())] },
        "data": { "text": greeting.spec.text },
    });
    config_maps.patch(&name, &PatchParams::apply("my-operator").force(), &Patch::Apply(wanted)).await?;
    Ok(Action::await_change())
}
