//! A registered webhook and its replicas: in this process, to inspect their state, or as child processes, to serve calls
//! and to be killed.

mod in_process;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use fire::{Cluster, Load, Options, Replica};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use vestibule_identity::{NamespacedName, Settings};
use vestibule_pki::ring::{CaId, Facts, Moment, Policy, Ring, read_bundle};
use vestibule_testenv::{ApiServer, Environment};

pub(crate) use self::in_process::InProcessReplica;
pub(crate) use self::wait::{promised, stays, until};
pub(crate) use crate::fixture::shared_or_skip;

pub(crate) const SERVICE: &str = "fire";

pub(crate) struct Fixture<'e> {
    pub(crate) cluster: Cluster<'e>,
    pub(crate) policy: Policy,
    pub(crate) admin: Client,
}

impl<'e> Fixture<'e> {
    /// Registers the webhook; `arguments` are a soak's, for lifetimes and waits.
    pub(crate) async fn new(environment: &'e Environment, arguments: &[&str]) -> Self {
        // A leaf is renewed 3 s before its end; rounding and a busy machine may take 2 s of that.
        const LEAF: &str = "--leaf=10";
        let is_given = arguments.iter().any(|argument| argument.starts_with("--leaf="));
        let leaf = (!is_given).then_some(LEAF);
        let arguments: Vec<_> = arguments.iter().copied().chain(leaf).collect();
        let options = Options::of(&arguments).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_replica"));
        let cluster = Cluster::prepare(environment, program, &options).await.unwrap();
        Self { cluster, policy: options.timing.policy(), admin: environment.admin().unwrap() }
    }

    /// The settings of a replica in this process.
    pub(crate) fn settings(&self) -> Settings {
        let named =
            |name: &str| NamespacedName { namespace: self.cluster.home().to_owned(), name: name.to_owned() };
        let mut settings = Settings::for_service(named(SERVICE));
        settings.secret = Some(named(self.cluster.secret()));
        settings.registrations = vec![format!("mutating/{}", self.cluster.registration()).parse().unwrap()];
        settings.policy = self.policy.clone();
        settings
    }

    /// Starts a replica in this process with the ServiceAccount of replicas.
    pub(crate) async fn start(&self) -> InProcessReplica {
        self.start_by(self.cluster.environment().api_server()).await
    }

    /// The same through another connection to the API server.
    pub(crate) async fn start_by(&self, way: &ApiServer) -> InProcessReplica {
        let client = way.service_account(self.cluster.home(), fire::ACCOUNT).await.unwrap();
        InProcessReplica::start(client, self.settings())
    }

    /// Starts `count` replica processes and waits until they are ready.
    pub(crate) async fn serve(&self, count: usize) -> Vec<Replica> {
        let starts = (0..count).map(|_| self.cluster.start_replica());
        let replicas = futures_util::future::try_join_all(starts).await.unwrap();
        self.all_ready(&replicas).await;
        replicas
    }

    pub(crate) async fn all_ready(&self, replicas: &[Replica]) {
        if let Err(error) = self.cluster.service().wait_for_replicas(replicas.len()).await {
            let logs: Vec<_> = replicas.iter().map(|replica| replica.child().log()).collect();
            panic!("{error}\n{}", logs.join("\n"));
        }
    }

    pub(crate) fn load(&self) -> Load {
        const RATE: u32 = 25;
        let counters = self.cluster.counters();
        Load::start(self.cluster.clients().unwrap(), self.cluster.target(), RATE, counters)
    }

    /// Stops the load and asserts that no call and no handshake has failed.
    pub(crate) async fn nothing_failed(&self, load: Load) {
        const ENOUGH: usize = 100;
        let counters = self.cluster.counters();
        until("calls are enough to show something", 30, async || counters.read().calls > ENOUGH).await;
        let counts = counters.read();
        load.stop().await;
        assert!(counts.failures.is_empty(), "of {} calls: {:#?}", counts.calls, counts.failures);
        assert!(counts.handshakes_failed.is_empty(), "{:#?}", counts.handshakes_failed);
    }

    pub(crate) fn secrets(&self) -> Api<Secret> {
        self.cluster.secrets().unwrap()
    }

    pub(crate) async fn secret(&self) -> Secret {
        self.secrets().get(self.cluster.secret()).await.unwrap()
    }

    pub(crate) async fn delete_secret(&self) {
        self.secrets().delete(self.cluster.secret(), &Default::default()).await.unwrap();
    }

    pub(crate) async fn annotate(&self, key: &str, value: &str) {
        annotate(&self.secrets(), self.cluster.secret(), key, value).await;
    }

    /// The ring in the Secret; `None` if it is missing or unreadable.
    pub(crate) async fn ring(&self) -> Option<Facts> {
        ring(&self.secrets(), self.cluster.secret()).await
    }

    /// The same, decoded at the time `at`.
    pub(crate) async fn ring_at(&self, at: Moment) -> Option<Facts> {
        ring_at(&self.secrets(), self.cluster.secret(), at).await
    }

    pub(crate) async fn active(&self) -> Option<CaId> {
        Some(self.ring().await?.active()?.id)
    }

    /// Waits until no rotation is in progress and the next one could start.
    pub(crate) async fn steady(&self) -> Facts {
        let mut last = None;
        until("the ring is steady", 60, async || {
            last = self.ring().await;
            last.as_ref().is_some_and(is_steady)
        })
        .await;
        last.unwrap()
    }

    /// The caBundle of each entry of this webhook.
    pub(crate) async fn bundles(&self) -> Vec<String> {
        let name = self.cluster.registration();
        let configuration = self.cluster.configurations().unwrap().get(name).await.unwrap();
        let entries = configuration.webhooks.unwrap_or_default().into_iter();
        let ours = entries.filter(|entry| entry.name.ends_with(".fire.vestibule.dev"));
        let text = ours.map(|entry| entry.client_config.ca_bundle.unwrap_or_default().0);
        text.map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }

    /// The CAs that every entry of this webhook trusts.
    pub(crate) async fn trusted(&self) -> BTreeSet<CaId> {
        let trusted = self.bundles().await.into_iter().map(|bundle| names(&bundle));
        trusted.reduce(|all, more| &all & &more).unwrap()
    }

    /// The note of an Event about the Secret.
    pub(crate) async fn event(&self, reason: &str) -> Option<String> {
        event(&self.admin, self.cluster.home(), reason).await
    }
}

pub(crate) async fn annotate(secrets: &Api<Secret>, name: &str, key: &str, value: &str) {
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { key: value } } }));
    secrets.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

pub(crate) async fn ring(secrets: &Api<Secret>, name: &str) -> Option<Facts> {
    ring_at(secrets, name, now()).await
}

async fn ring_at(secrets: &Api<Secret>, name: &str, at: Moment) -> Option<Facts> {
    let data = secrets.get_opt(name).await.unwrap()?.data?;
    let data: BTreeMap<_, _> = data.into_iter().map(|(field, bytes)| (field, bytes.0)).collect();
    Some(Ring::decode(&data, (0, 0), at).ok()?.facts().clone())
}

pub(crate) async fn event(admin: &Client, namespace: &str, reason: &str) -> Option<String> {
    let events: Api<Event> = Api::namespaced(admin.clone(), namespace);
    let events = events.list(&ListParams::default()).await.unwrap();
    let event = events.items.into_iter().find(|event| event.reason.as_deref() == Some(reason));
    event.map(|event| event.note.unwrap_or_default())
}

pub(crate) fn is_steady(facts: &Facts) -> bool {
    let is_held = facts.authorities.iter().all(|ca| ca.held.is_some());
    is_held && facts.authorities.len() == 2
}

pub(crate) fn names(bundle: &str) -> BTreeSet<CaId> {
    read_bundle(bundle).into_keys().collect()
}

pub(crate) fn now() -> Moment {
    Moment(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
}
