//! The replicas of the injector, each of which reports the rules that it has in force by a Lease.

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

/// The Leases of all replicas in the injector's namespace.
pub(super) struct Replicas {
    api: Api<Lease>,
    watched: Watched<Lease>,
    name: String,
    /// The hash that this replica last reported, and when.
    reported: Option<(String, Instant)>,
    /// Each Lease with the time of its renewal, and the instant at which that was seen.
    seen: HashMap<String, (Option<Timestamp>, Instant)>,
    /// The hash that each replica has in force.
    live: BTreeMap<String, String>,
}

impl Replicas {
    /// Needs a Tokio runtime.
    pub(super) fn start(client: &Client, namespace: &str) -> Self {
        let instance = events::instance(CONTROLLER).to_lowercase();
        let fine = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        let name: String = instance.chars().map(fine).collect();
        Self {
            api: Api::namespaced(client.clone(), namespace),
            watched: Watched::start(
                client,
                Watch::new().namespace(namespace).labels(format!("{LABEL}=true")),
            ),
            name: format!("injector-{}", name.trim_matches('-')),
            reported: None,
            seen: HashMap::new(),
            live: BTreeMap::new(),
        }
    }

    /// The rights in the injector's namespace.
    pub(crate) fn right() -> PolicyRule {
        policy_rule("coordination.k8s.io", "leases", &["list", "watch", "create", "patch", "delete"], &[])
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
        let (now, clock) = (Instant::now(), Timestamp::now());
        self.seen.retain(|name, _| leases.iter().any(|lease| lease.name_any() == *name));
        self.live.clear();
        for lease in &leases {
            let name = lease.name_any();
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
            let seen = self.seen.entry(name.clone()).or_insert((renewed, now));
            if seen.0 != renewed {
                *seen = (renewed, now);
            }
            let age = renewed.map_or(Duration::MAX, |time| clock.duration_since(time).unsigned_abs());
            if now - seen.1 < DURATION && age < DURATION + SKEW {
                let hash = lease.annotations().get(HASH).cloned().unwrap_or_default();
                self.live.insert(name, hash);
            } else if now - seen.1 >= ABANDONED || age >= ABANDONED {
                // It is deleted by one replica, and missing for the others.
                let _ = self.api.delete(&name, &DeleteParams::default()).await;
            }
        }
        // The watch may not have seen this replica's own report yet.
        if self.reported.as_ref().is_some_and(|(reported, _)| reported == hash) {
            self.live.insert(self.name.clone(), hash.to_owned());
        }
    }

    /// The number of replicas that have these rules in force, and the number of all that report.
    pub(super) fn of_hash(&self, hash: &str) -> (usize, usize) {
        (self.live.values().filter(|of_replica| *of_replica == hash).count(), self.live.len())
    }

    /// Whether this replica is the preferred writer of an object.
    pub(super) fn prefer_this(&self, object: &str) -> bool {
        let digest =
            object.bytes().fold(0usize, |digest, byte| digest.wrapping_mul(31).wrapping_add(byte.into()));
        let chosen = digest.checked_rem(self.live.len()).and_then(|index| self.live.keys().nth(index));
        chosen.is_none_or(|chosen| *chosen == self.name)
    }
}
