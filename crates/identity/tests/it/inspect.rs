//! `certs show`, `rotate` and `revoke` on a real API server, as users with few rights.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vestibule_identity::{
    InspectError, InspectReport, Inspection, NamespacedName, RingCommand, RingState, Role as Part,
};
use vestibule_pki::ring::{Change, KeySource, Moment, Policy, Ring, carry_out};
use vestibule_testenv::{Session, shared_or_skip};

/// A ring in a Secret, and a configuration with its bundle, as replicas would have written them.
struct Stage {
    admin: Client,
    secret: NamespacedName,
    name: String,
    keys: KeySource,
    ring: Option<Ring>,
}

impl Stage {
    async fn new(env: &Session) -> Self {
        let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
        let mut keys = KeySource::new("example", &["demo.svc"], Default::default());
        let create = Change::Create { trust: BTreeSet::new(), imported: BTreeSet::new() };
        let ring = carry_out(&create, None, &mut keys, moment(), &Policy::default()).unwrap();
        let name = format!("{namespace}-hooks");
        let secret = NamespacedName { namespace, name: "hooks-ring".to_owned() };
        let stage = Self { admin: env.admin().unwrap(), secret, name, keys, ring: Some(ring) };
        let data = stage.data();
        stage.create(&json!({ "metadata": { "name": "hooks-ring" }, "data": data }), stage.secrets()).await;
        let facts = stage.ring().facts();
        let configuration = json!({
            "metadata": { "name": stage.name, "annotations": {
                "vestibule.dev/ca-generation": facts.generation.to_string(),
                "vestibule.dev/ca-lineage": format!("{:016x}", facts.lineage.0),
            }},
            "webhooks": [{
                "name": "hooks.example.com",
                "clientConfig": {
                    "service": { "namespace": stage.secret.namespace, "name": "hooks" },
                    "caBundle": ByteString(stage.ring().bundle_pem().into_bytes()),
                },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
                "objectSelector": { "matchLabels": { "never": "matches" } },
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }],
        });
        stage.create(&configuration, Api::<MutatingWebhookConfiguration>::all(stage.admin.clone())).await;
        stage
    }

    fn ring(&self) -> &Ring {
        self.ring.as_ref().unwrap()
    }

    fn data(&self) -> Value {
        let data =
            self.ring().encode().into_iter().map(|(field, bytes)| (field, json!(ByteString(bytes.to_vec()))));
        Value::Object(data.collect())
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.admin.clone(), &self.secret.namespace)
    }

    async fn create<K>(&self, object: &Value, api: Api<K>)
    where
        K: Clone + DeserializeOwned + std::fmt::Debug + serde::Serialize,
    {
        let object: K = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Acts as a replica.
    async fn change(&mut self, change: Change) {
        let ring = self.ring.take();
        self.ring = Some(carry_out(&change, ring, &mut self.keys, moment(), &Policy::default()).unwrap());
        // Fields that are gone go from the Secret too.
        let patch = json!([{ "op": "replace", "path": "/data", "value": self.data() }]);
        let patch: Patch<Value> = Patch::Json(serde_json::from_value(patch).unwrap());
        self.secrets().patch("hooks-ring", &PatchParams::default(), &patch).await.unwrap();
    }

    /// A user who may do this much with the Secret, and get the configuration.
    async fn grant(&self, user: &str, verbs: &[&str]) {
        let namespace = &self.secret.namespace;
        let subjects = json!([{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }]);
        let bound =
            |kind: &str| json!({ "kind": kind, "name": user, "apiGroup": "rbac.authorization.k8s.io" });
        let metadata = json!({ "name": user });
        let rule = json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["hooks-ring"], "verbs": verbs }]);
        let roles: Api<Role> = Api::namespaced(self.admin.clone(), namespace);
        self.create(&json!({ "metadata": metadata, "rules": rule }), roles).await;
        let bindings: Api<RoleBinding> = Api::namespaced(self.admin.clone(), namespace);
        let binding = json!({ "metadata": metadata, "subjects": subjects, "roleRef": bound("Role") });
        self.create(&binding, bindings).await;
        let rule = json!([{
            "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [self.name], "verbs": ["get"],
        }]);
        let roles: Api<ClusterRole> = Api::all(self.admin.clone());
        self.create(&json!({ "metadata": metadata, "rules": rule }), roles).await;
        let bindings: Api<ClusterRoleBinding> = Api::all(self.admin.clone());
        let binding = json!({ "metadata": metadata, "subjects": subjects, "roleRef": bound("ClusterRole") });
        self.create(&binding, bindings).await;
    }

    async fn look(&self, client: Client, named: bool) -> Result<InspectReport, InspectError> {
        let mut inspection = Inspection::new(self.secret.clone());
        if named {
            inspection.registrations = vec![format!("mutating/{}", self.name).parse().unwrap()];
        }
        inspection.run(client, SystemTime::now()).await
    }
}

fn moment() -> Moment {
    Moment(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
}

/// RBAC is live a moment after it was written.
async fn eventually(mut granted: impl AsyncFnMut() -> bool) {
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while !granted().await {
            tokio::task::yield_now().await;
        }
    });
    patience.await.expect("granted in time");
}

#[tokio::test]
async fn a_ring_and_its_bundles_are_shown_to_whoever_may_get_them() {
    let Some(env) = shared_or_skip().await else { return };
    let stage = Stage::new(&env).await;
    let user = format!("{}-viewer", stage.secret.namespace);
    let client = env.api_server().user(&user).unwrap();

    let error = stage.look(client.clone(), true).await.unwrap_err();
    let InspectError::Forbidden { right, .. } = &error else { panic!("{error}") };
    assert_eq!(*right, format!("get secrets/hooks-ring in namespace {}", stage.secret.namespace));

    stage.grant(&user, &["get"]).await;
    eventually(async || stage.look(client.clone(), true).await.is_ok()).await;
    let report = stage.look(client.clone(), true).await.unwrap();
    assert!(report.is_in_sync(), "{report:?}");
    let ring = report.ring.report().unwrap();
    let roles: BTreeSet<_> = ring.authorities.iter().map(|ca| ca.role).collect();
    assert_eq!(roles, [Part::Active, Part::Next].into());
    assert_eq!(report.registrations[0].entries[0].authorities.len(), 2);
    assert!(!format!("{report:?}").contains("PRIVATE"));

    // A user who may not list is told the missing right and the alternative.
    let report = stage.look(client, false).await.unwrap();
    assert!(report.registrations.is_empty());
    let notes = report.notes.join("\n");
    assert!(notes.contains("list mutatingwebhookconfigurations.admissionregistration.k8s.io"), "{notes}");
    assert!(notes.contains("--registration"), "{notes}");
    // A user who may list need not know the names.
    let report = stage.look(stage.admin.clone(), false).await.unwrap();
    assert_eq!(report.registrations[0].registration.name, stage.name);
    assert!(report.is_in_sync());
}

#[tokio::test]
async fn what_differs_is_named() {
    let Some(env) = shared_or_skip().await else { return };
    let mut stage = Stage::new(&env).await;
    let before = stage.ring().bundle_pem();
    stage.change(Change::Promote).await;
    let report = stage.look(stage.admin.clone(), true).await.unwrap();
    assert!(!report.is_in_sync());
    let next = stage.ring().facts().next().unwrap().id;
    let differences = report.registrations[0].differences.join("\n");
    assert!(differences.contains(&format!("hooks.example.com: CA {next} is missing")), "{differences}");
    assert!(differences.contains("generation"), "{differences}");

    let configurations: Api<MutatingWebhookConfiguration> = Api::all(stage.admin.clone());
    let joined = ByteString(before.replace("-----\n-----", "----------").into_bytes());
    let patch = json!([{ "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": joined }]);
    let patch: Patch<Value> = Patch::Json(serde_json::from_value(patch).unwrap());
    let params = PatchParams { field_manager: Some("stranger".to_owned()), ..PatchParams::default() };
    configurations.patch(&stage.name, &params, &patch).await.unwrap();
    let report = stage.look(stage.admin.clone(), true).await.unwrap();
    let registration = &report.registrations[0];
    assert_eq!(registration.written_by.as_deref(), Some("stranger"));
    assert!(registration.differences.iter().any(|text| text.contains("joined without a line break")));

    let missing = NamespacedName { name: "another".to_owned(), ..stage.secret.clone() };
    let report = Inspection::new(missing).run(stage.admin.clone(), SystemTime::now()).await.unwrap();
    assert_eq!(report.ring, RingState::Absent);
    assert!(!report.is_in_sync());
}

#[tokio::test]
async fn wishes_are_written_with_two_rights_and_seen_done() {
    let Some(env) = shared_or_skip().await else { return };
    let mut stage = Stage::new(&env).await;
    let user = format!("{}-operator", stage.secret.namespace);
    let client = env.api_server().user(&user).unwrap();
    stage.grant(&user, &["get"]).await;
    eventually(async || stage.look(client.clone(), true).await.is_ok()).await;
    let error = RingCommand::Rotate.write(client, &stage.secret, SystemTime::now()).await.unwrap_err();
    assert!(error.to_string().contains("patch secrets/hooks-ring"), "{error}");

    let requested =
        RingCommand::Rotate.write(stage.admin.clone(), &stage.secret, SystemTime::now()).await.unwrap();
    assert!(!requested.next_is_held);
    let report = stage.look(stage.admin.clone(), true).await.unwrap();
    assert!(report.ring.report().unwrap().rotation_asked);
    let early = tokio::time::timeout(Duration::from_millis(700), requested.done(stage.admin.clone())).await;
    assert!(early.is_err());
    stage.change(Change::Promote).await;
    requested.done(stage.admin.clone()).await.unwrap();

    let requested =
        RingCommand::Revoke.write(stage.admin.clone(), &stage.secret, SystemTime::now()).await.unwrap();
    stage.change(Change::Revoke).await;
    let early = tokio::time::timeout(Duration::from_millis(700), requested.done(stage.admin.clone())).await;
    assert!(early.is_err(), "the former CAs are still trusted");
    let former = stage.ring().facts().authorities.iter().filter(|ca| ca.is_foreign());
    let former: BTreeSet<_> = former.map(|ca| ca.id).collect();
    stage.change(Change::Remove(former)).await;
    requested.done(stage.admin.clone()).await.unwrap();
}

#[tokio::test]
async fn where_there_is_no_ring_nothing_is_asked() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let secret = NamespacedName { namespace, name: "none".to_owned() };
    let error =
        RingCommand::Revoke.write(env.admin().unwrap(), &secret, SystemTime::now()).await.unwrap_err();
    assert_eq!(error, InspectError::NoRing(secret));
}
