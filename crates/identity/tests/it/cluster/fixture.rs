//! A namespace with a registered webhook, and replicas that keep its certificate.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule_identity::{Identity, NamespacedName, RegistrationName, SelfManaged, Settings};
use vestibule_pki::ring::{Policy, read_bundle};
use vestibule_testenv::Session;

/// A wait without a promised time lasts this many times as long as on an idle machine.
const CROWDED: u32 = 6;

/// Short lives: a first start takes two seconds.
pub(crate) fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.hold_cold = Duration::from_secs(2);
    policy.hold = Duration::from_secs(2);
    policy.recheck = Duration::from_secs(1);
    policy
}

/// A rotation is over within a quarter of a minute, and a leaf is renewed every seven seconds: three before its end, of which
/// a crowded machine and whole seconds take two.
pub(crate) fn fleeting() -> Policy {
    let mut policy = policy();
    policy.leaf_life = Duration::from_secs(10);
    policy.skew = Duration::from_secs(1);
    policy.authority_life = Duration::from_secs(600);
    policy.switch_wait = Duration::from_secs(1);
    policy
}

/// One webhook of ours and one of another program, in one configuration.
pub(crate) struct Fixture {
    pub(crate) admin: Client,
    pub(crate) namespace: String,
    pub(crate) registration: RegistrationName,
    pub(crate) policy: Policy,
}

impl Fixture {
    pub(crate) async fn new(env: &Session) -> Self {
        Self::with(env, policy()).await
    }

    pub(crate) async fn with(env: &Session, policy: Policy) -> Self {
        let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
        let admin = env.admin().unwrap();
        let registration = format!("mutating/{namespace}-hooks").parse().unwrap();
        let fixture = Self { admin, namespace, registration, policy };
        fixture.register().await;
        fixture
    }

    pub(crate) async fn register(&self) {
        let params = PostParams { field_manager: Some("gitops".to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(self.manifest()).unwrap();
        self.configurations().create(&params, &object).await.unwrap();
    }

    pub(crate) fn manifest(&self) -> Value {
        let entry = |name: &str, service: &str, bundle: Option<&str>| {
            let mut entry = json!({
                "name": name,
                "clientConfig": { "service": { "namespace": self.namespace, "name": service, "path": "/" } },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"] }],
                "objectSelector": { "matchLabels": { "never": "matches" } },
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            });
            if let Some(bundle) = bundle {
                entry["clientConfig"]["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
            }
            entry
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": self.registration.name, "annotations": { "example.dev/owner": "us" } },
            "webhooks": [
                entry("foreign.example.dev", "other", Some("not ours")),
                entry("first.example.dev", "hooks", None),
                entry("second.example.dev", "hooks", None),
            ],
        })
    }

    pub(crate) fn settings(&self) -> Settings {
        let service = NamespacedName { namespace: self.namespace.clone(), name: "hooks".to_owned() };
        let mut settings = Settings::for_service(service);
        settings.registrations = vec![self.registration.clone()];
        settings.policy = self.policy.clone();
        settings
    }

    pub(crate) fn replica(&self) -> Arc<SelfManaged> {
        SelfManaged::start(self.admin.clone(), self.settings()).unwrap()
    }

    /// A replica that is ready.
    pub(crate) async fn ready(&self) -> Arc<SelfManaged> {
        let replica = self.replica();
        within(10, &replica).await;
        replica
    }

    pub(crate) fn configurations(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.admin.clone())
    }

    pub(crate) async fn configuration(&self) -> MutatingWebhookConfiguration {
        self.configurations().get(&self.registration.name).await.unwrap()
    }

    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.admin.clone(), &self.namespace)
    }

    pub(crate) async fn secret(&self) -> Secret {
        self.secrets().get("hooks-ring").await.unwrap()
    }

    /// Waits until so many CAs of the ring are held. The next CA is held two seconds after its bundle was published, by the last
    /// write before the next rotation.
    pub(crate) async fn until_held(&self, authorities: usize) {
        until("next is held", 10, async || {
            let description = self.secret().await.data.unwrap()["ring.json"].0.clone();
            String::from_utf8(description).unwrap().matches("\"held\"").count() == authorities
        })
        .await;
    }

    /// The `caBundle` of each entry, as text.
    pub(crate) async fn bundles(&self) -> Vec<String> {
        bundles(&self.configuration().await)
    }

    /// Overwrites the `caBundle` of an entry as another program.
    pub(crate) async fn tamper(&self, entry: usize, bundle: &[u8]) {
        let params = PostParams { field_manager: Some("stranger".to_owned()), ..PostParams::default() };
        loop {
            let mut object = self.configuration().await;
            object.webhooks.as_mut().unwrap()[entry].client_config.ca_bundle =
                Some(ByteString(bundle.to_vec()));
            match self.configurations().replace(&self.registration.name, &params, &object).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                outcome => break drop(outcome.unwrap()),
            }
        }
    }

    pub(crate) async fn event_note(&self, reason: &str, namespace: &str) -> Option<String> {
        let events: Api<Event> = Api::namespaced(self.admin.clone(), namespace);
        let about = [self.registration.name.as_str(), "hooks-ring"];
        let events = events.list(&ListParams::default()).await.unwrap();
        let mut events = events.items.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        let event = events.find(|event| {
            let regarding = event.regarding.as_ref().and_then(|object| object.name.as_deref());
            regarding.is_some_and(|name| about.contains(&name))
        });
        event.map(|event| event.note.unwrap_or_default())
    }

    pub(crate) async fn has_event(&self, reason: &str, namespace: &str) -> bool {
        self.event_note(reason, namespace).await.is_some()
    }

    pub(crate) async fn annotate_secret(&self, key: &str, value: &str) {
        let patch = json!({ "metadata": { "annotations": { key: value } } });
        self.secrets().patch("hooks-ring", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
}

pub(crate) fn bundles(configuration: &MutatingWebhookConfiguration) -> Vec<String> {
    let webhooks = configuration.webhooks.iter().flatten();
    let bundle = |webhook: &k8s_openapi::api::admissionregistration::v1::MutatingWebhook| {
        let bytes = webhook.client_config.ca_bundle.clone().map(|bytes| bytes.0).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    };
    webhooks.map(bundle).collect()
}

pub(crate) async fn within(seconds: u64, replica: &SelfManaged) {
    let patience = Duration::from_secs(seconds) * CROWDED;
    let ready = tokio::time::timeout(patience, replica.ready()).await;
    assert!(ready.is_ok(), "not ready within {patience:?}: {:?}", replica.status());
}

/// Waits until `condition` is true, [`CROWDED`] times as long as an idle machine may take; returns the time that passed.
pub(crate) async fn until(what: &str, seconds: u64, condition: impl AsyncFnMut() -> bool) -> Duration {
    vestibule_testenv::until(what, Duration::from_secs(seconds) * CROWDED, condition).await.unwrap()
}

/// Waits until `condition` is true, for exactly the time that docs/reference/rotation-faults.md promises.
pub(crate) async fn promised(what: &str, seconds: u64, condition: impl AsyncFnMut() -> bool) -> Duration {
    vestibule_testenv::until(what, Duration::from_secs(seconds), condition).await.unwrap()
}

pub(crate) fn count(bundle: &str) -> usize {
    read_bundle(bundle).len()
}

/// A client that trusts this bundle accepts what the replica presents.
pub(crate) fn assert_accepted(replica: &SelfManaged, bundle: &str, namespace: &str) {
    let leaf = replica.present().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let now = rustls_pki_types::UnixTime::since_unix_epoch(now);
    vestibule_pki::verify(bundle, &leaf.chain, &[&format!("hooks.{namespace}.svc")], now).unwrap();
}
