//! The replicas of the injector, each of which reports the rules that it has in force by a Lease.
//!
//! Injections have no namespace, so several injectors of a cluster read them. Each sees the Leases of all, to know whether the
//! injector that wrote a status still runs.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::Instant;
use vestibule::Watch;
use vestibule::identity::{events, policy_rule};
use vestibule::tooling::Watched;
use vestibule_rules::CONTROLLER;

use super::MANAGER;

/// The label of these Leases; its value is `true`.
const LABEL: &str = "vestibule.dev/replica";
/// The annotation with the hash of the rules in force.
const HASH: &str = "vestibule.dev/rules";
/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(10);
/// A replica that has not renewed its Lease for this time is not counted.
const DURATION: Duration = Duration::from_secs(30);
/// The difference between clocks that is tolerated besides.
const SKEW: Duration = Duration::from_secs(30);
/// A Lease that was not renewed for this time is deleted.
const ABANDONED: Duration = Duration::from_secs(600);

/// Namespace and name of a Lease.
type LeaseName = (String, String);

/// The Leases of all replicas of all injectors.
pub(super) struct Replicas {
    /// The Leases in the injector's own namespace.
    api: Api<Lease>,
    watched: Watched<Lease>,
    namespace: String,
    name: String,
    /// The hash that this replica last reported, and when.
    reported: Option<(String, Instant)>,
    /// Each Lease with the time of its renewal, and the instant at which that was seen.
    seen: HashMap<LeaseName, (Option<Timestamp>, Instant)>,
    /// The hash that each replica has in force.
    live: BTreeMap<LeaseName, String>,
    /// Whether the Leases have been read.
    is_known: bool,
}

impl Replicas {
    /// Needs a Tokio runtime.
    pub(super) fn start(client: &Client, namespace: &str) -> Self {
        let instance = events::instance(CONTROLLER).to_lowercase();
        let fine = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        let name: String = instance.chars().map(fine).collect();
        Self {
            api: Api::namespaced(client.clone(), namespace),
            watched: Watched::start(client, Watch::new().labels(format!("{LABEL}=true"))),
            namespace: namespace.to_owned(),
            name: format!("injector-{}", name.trim_matches('-')),
            reported: None,
            seen: HashMap::new(),
            live: BTreeMap::new(),
            is_known: false,
        }
    }

    /// The rights in the injector's namespace.
    pub(crate) fn right() -> PolicyRule {
        policy_rule("coordination.k8s.io", "leases", &["create", "patch", "delete"], &[])
    }

    /// The rights in all namespaces. RBAC cannot limit them to a label.
    pub(crate) fn right_everywhere() -> PolicyRule {
        policy_rule("coordination.k8s.io", "leases", &["list", "watch"], &[])
    }

    /// Waits until a Lease changed.
    pub(super) async fn changed(&mut self) {
        self.watched.changed().await;
    }

    /// Reports the rules that this replica has in force, where that is news or a renewal is due, and reads what others report.
    pub(super) async fn report(&mut self, hash: &str) {
        let is_due =
            self.reported.as_ref().is_none_or(|(reported, at)| reported != hash || at.elapsed() >= RENEWAL);
        if is_due {
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.name, "labels": {LABEL: "true"}, "annotations": {HASH: hash}},
                "spec": {
                    "holderIdentity": self.name,
                    "leaseDurationSeconds": DURATION.as_secs(),
                    "renewTime": format!("{:.6}", Timestamp::now()),
                },
            });
            let params = PatchParams::apply(MANAGER).force();
            match self.api.patch(&self.name, &params, &Patch::Apply(lease)).await {
                Ok(_) => self.reported = Some((hash.to_owned(), Instant::now())),
                Err(error) => {
                    tracing::debug!(%error, "the Lease of this replica cannot be written; trying again");
                }
            }
        }
        self.read(hash).await;
    }

    async fn read(&mut self, hash: &str) {
        let Ok(leases) = self.watched.lookup(std::time::Instant::now()).everywhere().list() else { return };
        self.is_known = true;
        let (now, clock) = (Instant::now(), Timestamp::now());
        let key = |lease: &Lease| (lease.namespace().unwrap_or_default(), lease.name_any());
        self.seen.retain(|seen, _| leases.iter().any(|lease| key(lease) == *seen));
        self.live.clear();
        for lease in &leases {
            let key = key(lease);
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
            let seen = self.seen.entry(key.clone()).or_insert((renewed, now));
            if seen.0 != renewed {
                *seen = (renewed, now);
            }
            let age = renewed.map_or(Duration::MAX, |time| clock.duration_since(time).unsigned_abs());
            if now - seen.1 < DURATION && age < DURATION + SKEW {
                let hash = lease.annotations().get(HASH).cloned().unwrap_or_default();
                self.live.insert(key, hash);
            } else if key.0 == self.namespace && (now - seen.1 >= ABANDONED || age >= ABANDONED) {
                // It is deleted by one replica, and missing for the others.
                let _ = self.api.delete(&key.1, &DeleteParams::default()).await;
            }
        }
        // The watch may not have seen this replica's own report yet.
        if self.reported.as_ref().is_some_and(|(reported, _)| reported == hash) {
            self.live.insert((self.namespace.clone(), self.name.clone()), hash.to_owned());
        }
    }

    /// The number of replicas of this injector that have these rules in force, and the number of all that report.
    pub(super) fn of_hash(&self, hash: &str) -> (usize, usize) {
        (self.own().filter(|(_, of_replica)| *of_replica == hash).count(), self.own().count())
    }

    /// Whether this injector writes a status that was written by the injector in the namespace `owner`: not while that runs.
    pub(super) fn may_write(&self, owner: Option<&str>) -> bool {
        let runs = |owner: &str| self.live.keys().any(|(namespace, _)| namespace == owner);
        self.is_known && owner.is_none_or(|owner| owner == self.namespace || !runs(owner))
    }

    /// Whether this replica is the preferred writer of an object, among those of this injector.
    pub(super) fn prefer_this(&self, object: &str) -> bool {
        let digest =
            object.bytes().fold(0usize, |digest, byte| digest.wrapping_mul(31).wrapping_add(byte.into()));
        let chosen = digest.checked_rem(self.own().count()).and_then(|index| self.own().nth(index));
        chosen.is_none_or(|(chosen, _)| *chosen == self.name)
    }

    /// The namespace of this injector.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The replicas of this injector, with the hash that each has in force.
    fn own(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.live.iter().filter(|((namespace, _), _)| *namespace == self.namespace);
        own.map(|((_, name), hash)| (&**name, &**hash))
    }
}
