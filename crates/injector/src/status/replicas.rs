//! The replicas of the injector, each of which reports the rules that it has in force by a Lease.
//!
//! Injections have no namespace, so several injectors of a cluster read them. Each sees the Leases of all, to know whether the
//! injector that wrote a status still runs. It keeps a Lease of another namespace only if an injector of that namespace wrote a
//! status.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::Instant;
use vestibule::identity::{events, policy_rule};
use vestibule::{Watch, Watched};
use vestibule_rules::CONTROLLER;

use super::MANAGER;
use crate::deadline::with_timeout;

/// The label of these Leases; its value is `true`.
const LABEL: &str = "vestibule.dev/replica";
/// The annotation with the hash of the rules in force.
const HASH: &str = "vestibule.dev/rules";
/// More than the length of a hash.
const MAX_HASH: usize = 128;
/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(10);
/// A replica that has not renewed its Lease for this time is not counted.
const DURATION: Duration = Duration::from_secs(30);
/// The additional difference between the clocks of one injector's replicas that is tolerated.
const SKEW: Duration = Duration::from_secs(30);
/// A Lease that was not renewed for this time is deleted.
const ABANDONED: Duration = Duration::from_secs(600);

/// The rights to the Leases of replicas: in the injector's namespace, and in all namespaces, since RBAC cannot limit them to a
/// label.
pub(crate) fn lease_rights() -> (PolicyRule, PolicyRule) {
    let leases = |verbs: &[&str]| policy_rule("coordination.k8s.io", "leases", verbs, &[]);
    (leases(&["create", "patch", "delete"]), leases(&["list", "watch"]))
}

/// Namespace and name of a Lease.
type LeaseName = (String, String);

/// The replicas of this injector, and of other injectors that wrote a status.
pub(super) struct Replicas {
    /// The Leases in the injector's own namespace.
    api: Api<Lease>,
    watched: Watched<Lease>,
    /// The namespace of this injector.
    pub(super) namespace: String,
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
            watched: Watched::start(client, Watch::new().labels(format!("{LABEL}=true")).slim(slim)),
            namespace: namespace.to_owned(),
            name: format!("injector-{}", name.trim_matches('-')),
            reported: None,
            seen: HashMap::new(),
            live: BTreeMap::new(),
            is_known: false,
        }
    }

    /// Waits until a Lease changed.
    pub(super) async fn changed(&mut self) {
        self.watched.changed().await;
    }

    /// Reports the rules that this replica has in force, if they changed or a renewal is due, and reads the Leases of the other replicas,
    /// here and in the namespaces `writers`.
    pub(super) async fn report(&mut self, hash: &str, writers: &HashSet<&str>) {
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
            match with_timeout(self.api.patch(&self.name, &params, &Patch::Apply(lease))).await {
                Ok(_) => self.reported = Some((hash.to_owned(), Instant::now())),
                Err(error) => {
                    tracing::debug!(%error, "the Lease of this replica cannot be written; trying again");
                }
            }
        }
        self.read(hash, writers).await;
    }

    async fn read(&mut self, hash: &str, writers: &HashSet<&str>) {
        let Ok(leases) = self.watched.lookup(std::time::Instant::now()).everywhere().list() else { return };
        for abandoned in self.take(&leases, writers, Instant::now(), Timestamp::now()) {
            // It is deleted by one replica, and missing for the others.
            let _ = with_timeout(self.api.delete(&abandoned, &DeleteParams::default())).await;
        }
        // The watch may not have seen this replica's own report yet.
        if self.reported.as_ref().is_some_and(|(reported, _)| reported == hash) {
            self.live.insert((self.namespace.clone(), self.name.clone()), hash.to_owned());
        }
    }

    /// Takes over what Leases say, and returns the names of those in its own namespace that are to be deleted.
    fn take(
        &mut self,
        leases: &[Arc<Lease>],
        writers: &HashSet<&str>,
        now: Instant,
        clock: Timestamp,
    ) -> Vec<String> {
        self.is_known = true;
        let mut former = std::mem::take(&mut self.seen);
        let mut abandoned = Vec::new();
        self.live.clear();
        for lease in leases {
            let key = (lease.namespace().unwrap_or_default(), lease.name_any());
            let is_own = key.0 == self.namespace;
            if !is_own && !writers.contains(&*key.0) {
                continue;
            }
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
            let seen = former.remove(&key).filter(|seen| seen.0 == renewed).unwrap_or((renewed, now));
            let age = renewed.map_or(Duration::MAX, |time| clock.duration_since(time).unsigned_abs());
            // The clocks of two injectors may differ, and by age each could take the other for ended.
            let is_fresh = !is_own || age < DURATION + SKEW;
            if now - seen.1 < DURATION && is_fresh {
                let hash = lease.annotations().get(HASH).cloned().unwrap_or_default();
                self.live.insert(key.clone(), hash);
            } else if is_own && (now - seen.1 >= ABANDONED || age >= ABANDONED) {
                abandoned.push(key.1.clone());
            }
            self.seen.insert(key, seen);
        }
        abandoned
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

    /// Whether this replica is the preferred writer of an object, among those of this injector. None is before the Leases were read.
    pub(super) fn prefer_this(&self, object: &str) -> bool {
        let digest =
            object.bytes().fold(0usize, |digest, byte| digest.wrapping_mul(31).wrapping_add(byte.into()));
        let chosen = digest.checked_rem(self.own().count()).and_then(|index| self.own().nth(index));
        self.is_known && chosen.is_none_or(|(chosen, _)| *chosen == self.name)
    }

    /// The replicas of this injector, with the hash that each has in force.
    fn own(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.live.iter().filter(|((namespace, _), _)| *namespace == self.namespace);
        own.map(|((_, name), hash)| (&**name, &**hash))
    }
}

/// Drops what is not read: any user who may create a Lease chooses its size.
fn slim(lease: &mut Lease) {
    let ObjectMeta { name, namespace, uid, resource_version, annotations, .. } =
        std::mem::take(&mut lease.metadata);
    let annotations = annotations.map(|mut annotations| {
        annotations.retain(|key, value| key == HASH && value.len() <= MAX_HASH);
        annotations
    });
    lease.metadata =
        ObjectMeta { name, namespace, uid, resource_version, annotations, ..ObjectMeta::default() };
    if let Some(spec) = &mut lease.spec {
        let renew_time = spec.renew_time.take();
        *spec = LeaseSpec { renew_time, ..LeaseSpec::default() };
    }
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    const CLOCK: &str = "2026-11-28T12:00:00Z";

    fn replicas() -> Replicas {
        let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        Replicas::start(&client, "home")
    }

    fn clock() -> Timestamp {
        CLOCK.parse().unwrap()
    }

    fn lease(namespace: &str, name: &str, renewed: &str) -> Arc<Lease> {
        let lease = json!({
            "metadata": {"namespace": namespace, "name": name, "annotations": {HASH: "a", "more": "b"}},
            "spec": {"renewTime": format!("{renewed}.000000Z"), "holderIdentity": name},
        });
        let mut lease = serde_json::from_value(lease).unwrap();
        slim(&mut lease);
        Arc::new(lease)
    }

    #[test]
    fn what_a_lease_takes_is_bounded() {
        let long = "a".repeat(100_000);
        let lease = json!({
            "metadata": {"namespace": "team", "name": "one", "labels": {"a": long}, "finalizers": [long], "annotations": {HASH: long}},
            "spec": {"holderIdentity": long},
        });
        let mut lease: Lease = serde_json::from_value(lease).unwrap();
        slim(&mut lease);
        assert!(json!(lease).to_string().len() < 200);
        assert_eq!((lease.namespace().unwrap(), lease.name_any()), ("team".to_owned(), "one".to_owned()));
    }

    #[tokio::test]
    async fn no_replica_is_preferred_before_the_leases_are_read() {
        let mut replicas = replicas();
        assert!(!replicas.prefer_this("pods"));
        replicas.take(&[], &HashSet::new(), Instant::now(), clock());
        assert!(replicas.prefer_this("pods"));
    }

    #[tokio::test]
    async fn of_other_namespaces_only_leases_of_writers_are_kept() {
        let mut replicas = replicas();
        let fresh = "2026-11-28T12:00:00";
        let mut leases: Vec<_> = (0..1000).map(|n| lease("team", &n.to_string(), fresh)).collect();
        leases.extend([lease("home", "one", fresh), lease("other", "two", fresh)]);
        replicas.take(&leases, &HashSet::from(["home", "other"]), Instant::now(), clock());
        assert_eq!((replicas.seen.len(), replicas.live.len()), (2, 2));
        assert_eq!(replicas.of_hash("a"), (1, 1));
        assert!(!replicas.may_write(Some("other")) && replicas.may_write(Some("team")));
        replicas.take(&[], &HashSet::new(), Instant::now(), clock());
        assert!(replicas.seen.is_empty() && replicas.live.is_empty());
    }

    #[tokio::test]
    async fn another_injector_runs_while_it_renews_by_whichever_clock() {
        let mut replicas = replicas();
        let (writers, start) = (HashSet::from(["other"]), Instant::now());
        let of_other = |renewed| [lease("other", "two", renewed)];
        replicas.take(&of_other("2026-11-28T10:00:00"), &writers, start, clock());
        assert!(!replicas.may_write(Some("other")));
        replicas.take(&of_other("2026-11-28T10:00:10"), &writers, start + DURATION, clock());
        assert!(!replicas.may_write(Some("other")));
        replicas.take(&of_other("2026-11-28T10:00:10"), &writers, start + 2 * DURATION, clock());
        assert!(replicas.may_write(Some("other")));
        // A Lease of another namespace is never deleted, one of its own is.
        let own = [lease("home", "one", "2026-11-28T10:00:00")];
        assert_eq!(replicas.take(&own, &writers, start, clock()), ["one"]);
        assert_eq!(replicas.of_hash("a"), (0, 0));
    }
}
