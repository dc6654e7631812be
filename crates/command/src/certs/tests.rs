//! Names; and `certs show`, `rotate` and `revoke` on a real API server, as users with few rights.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vestibule_identity::NamespacedName;
use vestibule_pki::ring::{Change, KeySource, Moment, Policy, Ring, RingFacts, Role as Part, carry_out};
use vestibule_testenv::{Session, shared_or_skip};

use super::object_name;
use super::objects::{ObjectError, Objects};
use super::ring_command::RingCommand;
use super::show::ring_report::{RingReport, Selection};

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

    async fn look(&self, client: Client, named: bool) -> Result<RingReport, ObjectError> {
        let mut selection = everything(&self.secret);
        if named {
            selection.registrations = vec![format!("mutating/{}", self.name).parse().unwrap()];
        }
        RingReport::read(&selection, &Objects(client), SystemTime::now()).await
    }
}

fn everything(secret: &NamespacedName) -> Selection {
    Selection { secret: secret.clone(), service: None, registrations: Vec::new() }
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
async fn a_ring_and_its_bundles_are_shown_with_the_right_to_read_them() {
    let Some(env) = shared_or_skip().await else { return };
    let stage = Stage::new(&env).await;
    let user = format!("{}-viewer", stage.secret.namespace);
    let client = env.api_server().user(&user).unwrap();

    let error = stage.look(client.clone(), true).await.unwrap_err();
    assert!(matches!(error, ObjectError::Forbidden(_)), "{error}");
    let right = format!("grant `get secrets/hooks-ring in namespace {}`", stage.secret.namespace);
    assert!(error.to_string().contains(&right), "{error}");

    stage.grant(&user, &["get"]).await;
    eventually(async || stage.look(client.clone(), true).await.is_ok()).await;
    let report = stage.look(client.clone(), true).await.unwrap();
    assert!(report.is_in_sync(), "{report:?}");
    let ring = report.ring.facts().unwrap();
    let roles: BTreeSet<_> = ring.authorities.iter().map(|ca| ca.state.role().0).collect();
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
    assert_eq!(report.registrations[0].name.name, stage.name);
    assert!(report.is_in_sync());
}

#[tokio::test]
async fn differences_are_named() {
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
    let objects = Objects(stage.admin.clone());
    let report = RingReport::read(&everything(&missing), &objects, SystemTime::now()).await.unwrap();
    assert_eq!(report.ring, RingFacts::Absent);
    assert!(!report.is_in_sync());
}

#[tokio::test]
async fn rotation_and_revocation_need_get_and_patch_and_are_waited_for() {
    let Some(env) = shared_or_skip().await else { return };
    let mut stage = Stage::new(&env).await;
    let user = format!("{}-operator", stage.secret.namespace);
    let client = env.api_server().user(&user).unwrap();
    stage.grant(&user, &["get"]).await;
    eventually(async || stage.look(client.clone(), true).await.is_ok()).await;
    let error = RingCommand::Rotate.write(&Objects(client), &stage.secret).await.err().unwrap();
    assert!(error.to_string().contains("patch secrets/hooks-ring"), "{error}");

    let objects = Objects(stage.admin.clone());
    let requested = RingCommand::Rotate.write(&objects, &stage.secret).await.unwrap();
    assert!(!requested.next_is_held);
    let report = stage.look(stage.admin.clone(), true).await.unwrap();
    assert!(report.ring.facts().unwrap().rotation.is_open());
    let early = tokio::time::timeout(Duration::from_millis(700), requested.done(&objects)).await;
    assert!(early.is_err());
    stage.change(Change::Promote).await;
    requested.done(&objects).await.unwrap();

    let requested = RingCommand::Revoke.write(&objects, &stage.secret).await.unwrap();
    stage.change(Change::Revoke).await;
    let early = tokio::time::timeout(Duration::from_millis(700), requested.done(&objects)).await;
    assert!(early.is_err(), "the former CAs are still trusted");
    let former = stage.ring().facts().authorities.iter().filter(|ca| ca.is_foreign());
    let former: BTreeSet<_> = former.map(|ca| ca.id).collect();
    stage.change(Change::Remove(former)).await;
    requested.done(&objects).await.unwrap();
}

#[tokio::test]
async fn without_a_ring_no_command_is_written() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let secret = NamespacedName { namespace, name: "none".to_owned() };
    let objects = Objects(env.admin().unwrap());
    let error = RingCommand::Revoke.write(&objects, &secret).await.err().unwrap();
    assert_eq!(error, ObjectError::NoRing(secret));
}

/// The error of a damaged ring was that there is none.
#[tokio::test]
async fn a_damaged_ring_is_no_absent_ring() {
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let damaged = Secret {
        metadata: ObjectMeta { name: Some("damaged".to_owned()), ..ObjectMeta::default() },
        string_data: Some([("ring.json".to_owned(), "{".to_owned())].into()),
        ..Secret::default()
    };
    let client = env.admin().unwrap();
    let secrets = Api::<Secret>::namespaced(client.clone(), &namespace);
    secrets.create(&PostParams::default(), &damaged).await.unwrap();
    let secret = NamespacedName { namespace, name: "damaged".to_owned() };
    let error = RingCommand::Rotate.write(&Objects(client), &secret).await.err().unwrap();
    assert!(matches!(error, ObjectError::UnusableRing(..)), "{error}");
    assert!(error.to_string().contains("`ring.json`"), "{error}");
}

#[test]
fn a_name_is_one_that_an_object_can_have() {
    let named = |text| object_name(text, Some("demo")).map(|name| name.to_string());
    assert_eq!(named("hooks").ok().as_deref(), Some("demo/hooks"));
    assert_eq!(named("web/my-hooks.v1").ok().as_deref(), Some("web/my-hooks.v1"));
    for text in ["In valid", "Hooks", "a_b", "-a", "a-", "a..b", "", "/a", "a/", "a/b/c", "hooks:443"] {
        assert!(named(text).is_err(), "{text}");
    }
    assert!(object_name("hooks", None).is_err());
    assert!(object_name(&"a".repeat(254), Some("demo")).is_err());
}
