//! Entries that replicas write, into configurations that were installed without.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vestibule_identity::{Desired, Identity, IdentityEvent, SelfManaged};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, assert_accepted, fleeting, promised, until, within};
use super::listener::Listener;

impl Fixture {
    /// As a GitOps tool holds it: without entries.
    fn empty(&self) -> Value {
        let mut manifest = self.manifest();
        manifest.as_object_mut().unwrap().remove("webhooks");
        manifest
    }

    /// The configuration is installed without entries.
    async fn emptied(self) -> Self {
        self.configurations().delete(&self.registration.name, &DeleteParams::default()).await.unwrap();
        let params = PatchParams::apply("gitops").force();
        let patch = Patch::Apply(self.empty());
        self.configurations().patch(&self.registration.name, &params, &patch).await.unwrap();
        self
    }

    /// Entries of our Service, with these names and that timeout.
    fn desired(&self, hooks: &[&str], timeout: u8) -> Desired {
        let entry = |hook: &&str| {
            json!({
                "name": format!("{hook}.example.dev"),
                "clientConfig": { "service": { "namespace": self.namespace, "name": "hooks", "path": format!("/{hook}") } },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
                "objectSelector": { "matchLabels": { "never": "matches" } },
                "failurePolicy": "Fail", "timeoutSeconds": timeout,
                "sideEffects": "None", "admissionReviewVersions": ["v1"],
            })
        };
        Desired::new(self.registration.clone(), hooks.iter().map(entry).collect()).unwrap()
    }

    /// A replica that is ready, of the version that desires this; and what it tells.
    async fn version(&self, desired: Desired) -> (Arc<SelfManaged>, Arc<Listener>) {
        let mut settings = self.settings();
        let listener = Listener::new();
        settings.observer = Some(listener.clone());
        if desired.entries().is_empty() {
            settings.registrations.clear();
        }
        settings.desired = vec![desired];
        settings.settle = Duration::from_secs(1);
        let replica = SelfManaged::start(self.admin.clone(), settings).unwrap();
        within(10, &replica).await;
        (replica, listener)
    }

    async fn hooks(&self) -> Vec<String> {
        let webhooks = self.configuration().await.webhooks.unwrap_or_default();
        webhooks.into_iter().map(|entry| entry.name.replace(".example.dev", "")).collect()
    }

    async fn until_hooks(&self, hooks: &[&str]) {
        until(&format!("the entries are {hooks:?}"), 20, async || self.hooks().await == hooks).await;
    }

    /// The annotation of the owner of entries.
    async fn claim(&self) -> Option<String> {
        self.configuration().await.metadata.annotations?.remove("vestibule.dev/entries-claim")
    }

    /// Another version claimed the entries, and their owner objected.
    async fn until_opposed(&self, before: String) {
        until("a claim was made and opposed", 10, async || {
            self.configuration_version().await != before && self.claim().await.is_none()
        })
        .await;
    }

    async fn configuration_version(&self) -> String {
        self.configuration().await.metadata.resource_version.unwrap()
    }

    async fn edit(&self, patch: Value) {
        let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
        let params = PatchParams { field_manager: Some("stranger".to_owned()), ..PatchParams::default() };
        self.configurations().patch(&self.registration.name, &params, &patch).await.unwrap();
    }
}

#[tokio::test]
async fn entries_are_written_once_a_replica_serves_and_restored_after_their_removal() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await.emptied().await;
    let (replica, listener) = fixture.version(fixture.desired(&["a", "b"], 5)).await;
    assert!(fixture.configuration().await.webhooks.is_none(), "ready, and no replica serves");
    replica.serving();
    fixture.until_hooks(&["a", "b"]).await;
    let good = fixture.bundles().await;
    assert_eq!(good[0], good[1]);
    assert_accepted(&replica, &good[0], &fixture.namespace);
    assert!(replica.status().registrations[0].in_sync);

    // A forced apply of the installed manifest changes nothing; an update changes nothing either.
    let before = fixture.configuration_version().await;
    let (params, patch) = (PatchParams::apply("gitops").force(), Patch::Apply(fixture.empty()));
    let applied = fixture.configurations().patch(&fixture.registration.name, &params, &patch).await.unwrap();
    assert_eq!(applied.metadata.resource_version, Some(before));
    // A second start of the same version has nothing to write.
    drop(replica);
    let (replica, _) = fixture.version(fixture.desired(&["a", "b"], 5)).await;
    replica.serving();
    // Fields that other programs add stay; entries that they remove are written again, as docs/how-to/registration.md promises.
    fixture.edit(json!([
        { "op": "replace", "path": "/webhooks/1/timeoutSeconds", "value": 7 },
        { "op": "add", "path": "/webhooks/1/matchConditions", "value": [{ "name": "x", "expression": "true" }] },
        { "op": "remove", "path": "/webhooks/0" },
    ]))
    .await;
    promised("the entry is back", 2, async || fixture.hooks().await == ["a", "b"]).await;
    let entry = fixture.configuration().await.webhooks.unwrap().remove(1);
    assert_eq!((entry.timeout_seconds, entry.match_conditions.map(|list| list.len())), (Some(7), Some(1)));
    // `kubectl replace` takes all that is ours.
    let mut object = fixture.configuration().await;
    (object.webhooks, object.metadata.annotations, object.metadata.managed_fields) = (None, None, None);
    let params = PostParams { field_manager: Some("stranger".to_owned()), ..PostParams::default() };
    fixture.configurations().replace(&fixture.registration.name, &params, &object).await.unwrap();
    fixture.until_hooks(&["a", "b"]).await;
    assert_eq!(fixture.bundles().await, good);
    fixture.configurations().delete(&fixture.registration.name, &DeleteParams::default()).await.unwrap();
    let empty = serde_json::from_value(fixture.empty()).unwrap();
    fixture.configurations().create(&PostParams::default(), &empty).await.unwrap();
    fixture.until_hooks(&["a", "b"]).await;
    let written =
        |event: &&IdentityEvent| matches!(event, IdentityEvent::EntriesWritten { repaired_from: None, .. });
    assert_eq!(listener.heard().iter().filter(written).count(), 1);
}

#[tokio::test]
async fn entries_change_owner_when_no_replica_of_the_old_version_is_left() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await.emptied().await;
    let (old, _) = fixture.version(fixture.desired(&["a", "b"], 5)).await;
    old.serving();
    fixture.until_hooks(&["a", "b"]).await;
    // Not ours, and never touched.
    let foreign = fixture.manifest()["webhooks"][0].clone();
    fixture.edit(json!([{ "op": "add", "path": "/webhooks/-", "value": foreign }])).await;

    let (new, listener) = fixture.version(fixture.desired(&["b", "c"], 9)).await;
    let before = fixture.configuration_version().await;
    new.serving();
    fixture.until_opposed(before).await;
    assert_eq!(fixture.hooks().await, ["a", "b", "foreign"]);
    drop(old);
    fixture.until_hooks(&["b", "foreign", "c"]).await;
    let entries = fixture.configuration().await.webhooks.unwrap();
    let bundle = fixture.bundles().await.remove(0);
    assert_accepted(&new, &bundle, &fixture.namespace);
    assert_eq!(entries[0].timeout_seconds, Some(9));
    assert_eq!(entries[1].client_config.ca_bundle, Some(ByteString(b"not ours".to_vec())));
    assert_eq!(fixture.claim().await, None);
    let written = |event: &&IdentityEvent| matches!(event, IdentityEvent::EntriesWritten { .. });
    until("that is told, once", 2, async || listener.heard().iter().filter(written).count() == 1).await;

    // An old pod that starts again takes nothing back.
    let (late, _) = fixture.version(fixture.desired(&["a", "b"], 5)).await;
    let before = fixture.configuration_version().await;
    late.serving();
    fixture.until_opposed(before).await;
    assert_eq!(fixture.hooks().await, ["b", "foreign", "c"]);
    // A version without any hook of this kind takes them away, once it is alone.
    drop((late, new));
    let (none, _) = fixture.version(fixture.desired(&[], 0)).await;
    none.serving();
    fixture.until_hooks(&["foreign"]).await;
}

#[tokio::test]
async fn a_definition_is_established_with_its_conversion_and_without_it_gets_one() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let group = format!("{}.example.dev", fixture.namespace);
    let (with, without) = (format!("widgets.{group}"), format!("gadgets.{group}"));
    let service = json!({ "namespace": fixture.namespace, "name": "hooks", "path": "/convert", "port": 443 });
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": { "service": service } },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(fixture.admin.clone());
    let version = |name: &str, storage: bool| {
        let schema =
            json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
        json!({ "name": name, "served": true, "storage": storage, "schema": schema })
    };
    for (name, conversion) in [(&with, conversion.clone()), (&without, json!({ "strategy": "None" }))] {
        let plural = name.split('.').next().unwrap();
        let kind = plural.trim_end_matches('s');
        let definition = json!({ "metadata": { "name": name }, "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": [version("v1", true), version("v1beta1", false)], "conversion": conversion,
        } });
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        until("it is established", 10, async || {
            let conditions = definitions.get(name).await.unwrap().status.and_then(|status| status.conditions);
            conditions.into_iter().flatten().any(|it| it.type_ == "Established" && it.status == "True")
        })
        .await;
    }
    // Until a replica is ready what needs a conversion is refused: nothing is stored that was not converted.
    let create = async |version: &str, plural: &str| {
        let object = json!({ "apiVersion": format!("{group}/{version}"), "kind": plural.trim_end_matches('s'), "metadata": { "name": "x" } });
        let uri = format!("/apis/{group}/{version}/namespaces/{}/{plural}?dryRun=All", fixture.namespace);
        let request = http::Request::post(uri).header("content-type", "application/json");
        let request = request.body(kube::client::Body::from(object.to_string().into_bytes())).unwrap();
        fixture.admin.clone().send(request).await.unwrap().status().as_u16()
    };
    assert_eq!(create("v1", "widgets").await, 201, "the stored version needs no conversion");
    assert_eq!(create("v1beta1", "widgets").await, 500);

    let mut settings = fixture.settings();
    settings.registrations = [&with, &without].map(|name| format!("crd/{name}").parse().unwrap()).into();
    settings.desired = settings
        .registrations
        .iter()
        .map(|name| Desired::new(name.clone(), vec![conversion.clone()]).unwrap())
        .collect();
    settings.settle = Duration::from_secs(1);
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    within(10, &replica).await;
    let config = async |name: &str| {
        let definition = serde_json::to_value(definitions.get(name).await.unwrap()).unwrap();
        definition["spec"]["conversion"]["webhook"]["clientConfig"].clone()
    };
    assert!(config(&with).await["caBundle"].is_string(), "kept from the start");
    assert!(config(&without).await.is_null());
    replica.serving();
    until("the other has a conversion", 10, async || config(&without).await["caBundle"].is_string()).await;
    assert_eq!(config(&without).await, config(&with).await);
}
