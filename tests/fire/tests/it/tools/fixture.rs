//! A serving replica, and a webhook configuration that a tool owns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use fire::{Counters, Load, ReplicaEvent, hook};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use vestibule_testenv::{Child, Environment, Service};

use super::history::History;

/// The limit of repairs and first bundles. They take less than 1 s on an idle machine.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(10);
/// Longer than a rotation takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Two fixtures at a time: the tools use all CPU of a small machine, and their effects are measured in seconds.
static SLOTS: Semaphore = Semaphore::const_new(2);

/// The Secret of the ring.
const SECRET: &str = "hooks-ring";

/// A version of the owner's manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Two hooks, [`hook::CLOSE`] and [`hook::KEEP`].
    First,
    /// Another time limit.
    Changed,
    /// One more hook.
    Added,
    /// Another name for the hook that closes connections.
    Renamed,
}

/// A Service with one replica, and a configuration that calls it.
pub(crate) struct ToolFixture<'e> {
    pub(crate) env: &'e Environment,
    pub(crate) admin: Client,
    pub(crate) home: String,
    pub(crate) registration: String,
    pub(crate) history: History,
    target: String,
    service: Service,
    replica: Child,
    counters: Arc<Counters>,
    _slot: SemaphorePermit<'static>,
}

impl<'e> ToolFixture<'e> {
    /// Starts the replica; there is no configuration yet.
    pub(crate) async fn new(env: &'e Environment) -> Self {
        let slot = SLOTS.acquire().await.unwrap();
        let home = env.namespace(&[]).await.unwrap().name().to_owned();
        let target = env.namespace(&[]).await.unwrap().name().to_owned();
        let service = env.two_port_service(&home, "hooks").await.unwrap();
        let registration = format!("tools-{home}");
        let named = format!("mutating/{registration}").parse().unwrap();
        fire::grant(env, &home, SECRET, &[named]).await.unwrap();
        let kubeconfig = env.service_account_kubeconfig(&home, fire::ACCOUNT).await.unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_replica"));
        command.arg("--kubeconfig").arg(kubeconfig).args([
            format!("--namespace={home}"),
            "--service=hooks".to_owned(),
            format!("--secret={SECRET}"),
            format!("--registration=mutating/{registration}"),
            // No renewal during the test: only the tools change configurations.
            "--leaf=3000".to_owned(),
        ]);
        let replica = env.spawn("replica", &command).unwrap();
        let listening = replica.wait_for_line(|line| match ReplicaEvent::parse(line) {
            Some(ReplicaEvent::Listening { hooks, probes, .. }) => Some((hooks, probes)),
            _ => None,
        });
        let (hooks, probes) = listening.await.unwrap();
        service.add_two_port_replica(hooks, Some(probes)).unwrap();
        let admin = env.admin().unwrap();
        let history = History::of(Api::all(admin.clone()), &registration);
        Self {
            env,
            admin,
            home,
            registration,
            history,
            target,
            service,
            replica,
            counters: Arc::default(),
            _slot: slot,
        }
    }

    /// The owner's manifest, without a caBundle.
    pub(crate) fn manifest(&self, version: Version) -> Value {
        let mut object = hook::configuration(&self.registration, &self.target, &self.service);
        object["metadata"]["labels"] = json!({ "app": "hooks" });
        let hooks = object["webhooks"].as_array_mut().unwrap();
        match version {
            Version::First => {}
            Version::Changed => hooks[0]["timeoutSeconds"] = json!(9),
            Version::Renamed => hooks[0]["name"] = json!("renamed.fire.vestibule.dev"),
            Version::Added => {
                let mut more = hooks[1].clone();
                more["name"] = json!("added.fire.vestibule.dev");
                more["objectSelector"] = json!({ "matchLabels": { hook::LABEL: "added" } });
                hooks.insert(0, more);
            }
        }
        object
    }

    /// The same as a file.
    pub(crate) fn file(&self, version: Version) -> PathBuf {
        let path = self.env.folder().join(format!("{}-{version:?}.json", self.home));
        std::fs::write(&path, self.manifest(version).to_string()).unwrap();
        path
    }

    /// Waits until the replica is ready; returns the bundle, which every entry has then.
    pub(crate) async fn ready(&self) -> String {
        self.service.wait_for_replicas(1).await.unwrap();
        let bundle = self.ring_bundle().await;
        assert!(self.bundles().await.values().all(|held| *held == bundle));
        bundle
    }

    /// The bundle that every entry should have.
    pub(crate) async fn ring_bundle(&self) -> String {
        let ring = self.secrets().get(SECRET).await.unwrap().data.unwrap();
        String::from_utf8(ring["ca.crt"].0.clone()).unwrap()
    }

    /// Requests a rotation.
    pub(crate) async fn rotate(&self) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { fire::ROTATE: "now" } } }));
        self.secrets().patch(SECRET, &PatchParams::default(), &patch).await.unwrap();
    }

    /// The issuers of the leaves presented so far.
    pub(crate) fn issuers(&self) -> BTreeSet<String> {
        let log = self.replica.log();
        let issuer = |line| match ReplicaEvent::parse(line) {
            Some(ReplicaEvent::Presented { issuer, .. }) => Some(issuer),
            _ => None,
        };
        log.lines().filter_map(issuer).collect()
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.admin.clone(), &self.home)
    }

    pub(crate) fn configurations(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.admin.clone())
    }

    pub(crate) async fn configuration(&self) -> MutatingWebhookConfiguration {
        self.configurations().get(&self.registration).await.unwrap()
    }

    pub(crate) async fn version(&self) -> Option<String> {
        self.configuration().await.metadata.resource_version
    }

    /// The number of versions so far, after the watch has caught up.
    pub(crate) async fn versions(&self) -> usize {
        let now = self.version().await;
        until("the history has what is there", PATIENCE, async || self.history.has(now.as_deref())).await;
        self.history.len()
    }

    /// The caBundle of each entry by name.
    pub(crate) async fn bundles(&self) -> BTreeMap<String, String> {
        bundles(&self.configuration().await)
    }

    /// Starts a load of 40 calls a second on both hooks.
    pub(crate) fn load(&self) -> Load {
        Load::start(vec![self.admin.clone()], &self.target, 40, &self.counters)
    }

    /// Failed calls so far by error message.
    pub(crate) fn failures(&self) -> BTreeMap<String, usize> {
        self.counters.read().failures
    }

    /// The number of calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.counters.read().calls
    }

    /// Waits until each hook answers, after the API server trusts the replica again.
    pub(crate) async fn wait_for_answers(&self) {
        for connection in ["close", "keep"] {
            until("the hook answers", PATIENCE, async || self.call(connection).await).await;
        }
    }

    async fn call(&self, connection: &str) -> bool {
        let label = (hook::LABEL.to_owned(), connection.to_owned());
        let metadata = ObjectMeta {
            name: Some("call".to_owned()),
            labels: Some([label].into()),
            annotations: Some([("fire.vestibule.dev/asked".to_owned(), "true".to_owned())].into()),
            ..ObjectMeta::default()
        };
        let object = ConfigMap { metadata, ..ConfigMap::default() };
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let configmaps = Api::<ConfigMap>::namespaced(self.admin.clone(), &self.target);
        let made = configmaps.create(&dry_run, &object).await;
        made.is_ok_and(|made| made.metadata.annotations.unwrap_or_default().contains_key(hook::ANNOTATION))
    }

    /// The notes of Events with this reason about the configuration.
    pub(crate) async fn notes(&self, reason: &str) -> Vec<String> {
        let events = Api::<Event>::namespaced(self.admin.clone(), "default");
        let events = events.list(&ListParams::default()).await.unwrap().items.into_iter();
        let about_it = events.filter(|event| {
            let regarding = event.regarding.as_ref().and_then(|object| object.name.as_ref());
            event.reason.as_deref() == Some(reason) && regarding == Some(&self.registration)
        });
        about_it.map(|event| event.note.unwrap_or_default()).collect()
    }

    /// Waits for an Event about the repair of a write by `manager`.
    pub(crate) async fn wait_for_repair_event(&self, manager: &str) {
        until(&format!("an Event names {manager}"), PATIENCE, async || {
            self.notes("BundleRepaired").await.iter().any(|note| note.contains(manager))
        })
        .await;
    }

    /// The ERROR lines of the replica's log.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.replica.log().lines().filter(|line| line.contains(" ERROR ")).map(str::to_owned).collect()
    }
}

/// The caBundle of each entry by name.
pub(crate) fn bundles(configuration: &MutatingWebhookConfiguration) -> BTreeMap<String, String> {
    let entries = configuration.webhooks.iter().flatten().map(|entry| {
        let bundle = entry.client_config.ca_bundle.clone().map(|bundle| bundle.0).unwrap_or_default();
        (entry.name.clone(), String::from_utf8(bundle).unwrap())
    });
    entries.collect()
}

/// Runs the command; it must succeed and report no conflict.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{said}{}", String::from_utf8_lossy(&output.stdout));
    assert!(!said.to_lowercase().contains("conflict"), "{command:?}:\n{said}");
    output
}

/// Waits until `condition` is true, for at most `patience`.
pub(crate) async fn until(what: &str, patience: Duration, condition: impl AsyncFnMut() -> bool) {
    vestibule_testenv::until(what, patience, condition).await.unwrap();
}
