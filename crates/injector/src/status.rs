//! Writes the status of Injections, InjectorSettings and NamespacedInjections.
//!
//! Every replica runs this task, and there is no leader. Each object has a preferred writer among the replicas that report, by a
//! digest of its name. Another replica writes the same status only if the preferred writer has not written it within [`GRACE`]
//! plus the time for its other objects. A write names the resource version that it is based on, so of two writers one is refused.
//!
//! Of several injectors in a cluster, one writes the status of an object. `status.injector` is its namespace, and another one writes
//! only when no replica there reports.
//!
//! Bounds: a replica writes at most 20 statuses a second. Conditions are written when they change, except that a change of the
//! message alone, such as the number of replicas, waits for [`GRACE`]. Counts are written at most once in [`COUNTS_INTERVAL`] for
//! each Injection, and only where objects were counted.

mod content;
mod counts;
mod memory;
mod registered;
mod replicas;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use vestibule::tooling::Entries;
use vestibule_rules::CustomResource;

use self::content::{Change, Facts};
use self::counts::Counts;
use self::memory::Memory;
pub(crate) use self::registered::Registered;
use self::replicas::Replicas;
pub(crate) use self::replicas::lease_rights;
use crate::configuration::objects::ObservedObjects;
use crate::configuration::reloader::Reloader;
use crate::configuration::rule_object::{
    Injection, InjectorSettings, NamespacedInjection, ObservedObject, RuleKind, RuleObject,
};
use crate::configuration::rule_source::RuleDocument;
use crate::configuration::snapshot::Snapshot;
use crate::deadline::with_timeout;
use crate::lagging_pods::{Compared, LaggingPods};
use crate::outcome_metrics::OutcomeMetrics;

/// The time that the preferred writer has before another replica writes.
const GRACE: Duration = Duration::from_secs(10);
/// The shortest time between two writes of counts of one Injection by one replica.
pub(crate) const COUNTS_INTERVAL: Duration = Duration::from_secs(60);
/// The shortest time between two writes.
const MIN_WRITE_INTERVAL: Duration = Duration::from_millis(50);
/// The time between two checks of the replicas and counts.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which statuses of one state are written while there is a newer one.
const MAX_ROUND: Duration = Duration::from_secs(1);
/// The time between two checks while a status waits for the registration, and the shortest time between two because of Leases.
const SHORT_POLL_INTERVAL: Duration = Duration::from_millis(200);
pub(crate) const MANAGER: &str = "vestibule-injector";

pub(crate) struct StatusWriter {
    pub(crate) client: Client,
    /// The namespace of the injector.
    pub(crate) namespace: String,
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) entries: Entries,
    pub(crate) outcomes: OutcomeMetrics,
    pub(crate) lagging: LaggingPods,
    pub(crate) objects: ObservedObjects,
    /// The hash of the rules to which `entries` belong.
    pub(crate) entries_hash: watch::Receiver<String>,
    pub(crate) registered: Registered,
}

/// The rules that were in force when a round began. The round reports on these rules; the next round reports on rules that come into
/// force meanwhile.
struct InForce {
    snapshot: Arc<Snapshot>,
    hash: String,
    documents: Vec<RuleDocument>,
}

/// The facts that all statuses of a round are made of.
struct Round<'r> {
    facts: Facts<'r>,
    lagging: Compared<'r>,
    now: Instant,
    /// The time that a preferred writer has before this replica writes.
    grace: Duration,
}

/// A status to write.
struct Update {
    status: Value,
    /// The outcomes of this process that are in its counts; [`None`] if its counts are the stored ones.
    total: Option<Counts>,
}

/// The outcome of a write.
enum Written {
    /// The resource version of the object after it.
    Version(String),
    /// The API server did not carry it out.
    Refused,
    /// Without an answer, it may have been carried out.
    Unknown,
}

impl StatusWriter {
    /// Writes until it is dropped.
    pub(crate) async fn run(mut self) {
        // Without objects nothing is written, and no Lease.
        if self.objects.wait_for(Option::is_some).await.is_err() {
            return;
        }
        let mut replicas = Replicas::start(&self.client, &self.namespace);
        let mut memory = HashMap::new();
        loop {
            let next = Instant::now() + SHORT_POLL_INTERVAL;
            let waits = self.round(&mut replicas, &mut memory).await;
            let pause = if waits { SHORT_POLL_INTERVAL } else { POLL_INTERVAL };
            // Users of any namespace may write Leases with the label of replicas.
            let leases = async {
                sleep_until(next).await;
                replicas.changed().await;
            };
            tokio::select! {
                changed = self.objects.changed() => if changed.is_err() { return },
                changed = self.entries_hash.changed() => if changed.is_err() { return },
                () = leases => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Writes every status that this replica has to write. Returns whether a status waits for a registration that will be there soon.
    async fn round(&mut self, replicas: &mut Replicas, memory: &mut HashMap<String, Memory>) -> bool {
        let Some(objects) = self.objects.borrow_and_update().clone() else { return false };
        let names: HashSet<&str> = objects.iter().map(|object| &*object.source.name).collect();
        memory.retain(|source, _| names.contains(&**source));
        let InForce { snapshot, hash, documents } = self.in_force().await;
        self.outcomes.retain(&self.reloader.current());
        let hash = &*hash;
        let writers = objects.iter().filter_map(|object| object.status["injector"].as_str()).collect();
        replicas.report(hash, &writers).await;
        self.lagging.count_here(replicas.prefer_this("pods"));
        let is_registered = self.registered.check(hash, &self.client, &self.entries).await;
        let of_cluster = documents.iter().map(RuleDocument::text).map(|it| (it.name, it.text));
        let documents = of_cluster.chain(snapshot.namespaced.in_force()).collect();
        let facts = Facts { snapshot: &snapshot, hash, documents, replicas, is_registered };
        let lagging = self.lagging.compared(&snapshot);
        let now = Instant::now();
        // The preferred writer of an object may have all others to write before it.
        let behind = memory.values().filter(|memory| memory.differs_since.is_some()).count();
        let grace = GRACE + MIN_WRITE_INTERVAL * u32::try_from(behind).unwrap_or(u32::MAX);
        let round = Round { facts, lagging, now, grace };
        let is_own = |object: &&ObservedObject| replicas.may_write(object.status["injector"].as_str());
        for object in objects.iter().filter(is_own) {
            let memory = memory.entry(object.source.name.clone()).or_default();
            let Some(update) = self.due_update(&round, object, memory) else { continue };
            let written = self.write(object, &update.status).await;
            memory.attempted(object, update, written, now);
            tokio::time::sleep(MIN_WRITE_INTERVAL).await;
            // A newer state is written instead of the rest of this one.
            if now.elapsed() >= MAX_ROUND && self.objects.has_changed().unwrap_or(true) {
                break;
            }
        }
        self.registered.is_awaited()
    }

    /// The status that this replica has to write for `object` now, if it has to write one.
    fn due_update(&self, round: &Round<'_>, object: &ObservedObject, memory: &mut Memory) -> Option<Update> {
        let Round { facts, lagging, now, grace } = round;
        let mut status = object.status.clone();
        let mut change = facts.update(object, &mut status, Timestamp::now());
        if object.resource != CustomResource::InjectorSettings
            && lagging.status_of(&object.rule_name(), &object.source.name).write(&mut status)
        {
            change = change.max(Change::Message);
        }
        memory.differs_since = (change != Change::None).then(|| memory.differs_since.unwrap_or(*now));
        if memory.written_from.as_ref() == Some(&object.resource_version) {
            return None;
        }
        let mut wait = if facts.replicas.prefer_this(&object.source.name) { Duration::ZERO } else { *grace };
        if change == Change::Message {
            wait += GRACE;
        }
        let differs = memory.differs_since.is_some_and(|since| *now - since >= wait);
        let total = match object.resource {
            CustomResource::Injection | CustomResource::NamespacedInjection => {
                Counts::of(self.outcomes.of_rule(&object.rule_name()).iter())
            }
            CustomResource::InjectorSettings => Counts::default(),
        };
        memory.seen(object, *now);
        // Before the object is in force, the outcomes are those of a rule of its name in a ConfigMap.
        if !facts.documents.contains_key(&*object.source.name) {
            memory.reported = total.clone();
        }
        // If the first attempt was carried out, the repetition is refused because of its resource version.
        let (total, sent) = match &memory.unanswered {
            Some(unanswered) => (unanswered.total.clone(), Some(unanswered.counts.clone())),
            None => (total, None),
        };
        memory.reported.restart_if_above(&total);
        let is_due = memory.counts_written.is_none_or(|last| *now - last >= COUNTS_INTERVAL);
        let new = total.since(&memory.reported);
        let has_counts = is_due && !new.is_empty();
        if has_counts {
            match sent {
                Some(sent) => status["counts"] = sent,
                None => new.add_to(&mut status, Timestamp::now()),
            }
        }
        let update = Update { status, total: has_counts.then_some(total) };
        ((has_counts || differs) && !memory.was_not_taken(&update.status)).then_some(update)
    }

    /// The rules in force, as soon as the entries are those of these rules. Compared with former entries, the webhook configuration would
    /// seem to be complete.
    async fn in_force(&mut self) -> InForce {
        loop {
            // The hash is read before the rules: if they are newer, its next value ends the wait.
            let published = self.entries_hash.borrow_and_update().clone();
            let (snapshot, documents) = self.reloader.in_force();
            let hash = snapshot.hash();
            if published == hash || self.entries_hash.changed().await.is_err() {
                return InForce { snapshot, hash, documents };
            }
        }
    }

    /// Writes the status of an object. If another replica has changed the object, the watch will report it.
    async fn write(&self, object: &ObservedObject, status: &Value) -> Written {
        let patch = json!({"metadata": {"resourceVersion": object.resource_version}, "status": status});
        let client = self.client.clone();
        let written = match object.resource {
            CustomResource::Injection => {
                patch_status(&Api::<RuleObject<Injection>>::all(client), &object.name, patch).await
            }
            CustomResource::InjectorSettings => {
                patch_status(&Api::<RuleObject<InjectorSettings>>::all(client), &object.name, patch).await
            }
            CustomResource::NamespacedInjection => {
                let namespace = object.namespace.as_deref().unwrap_or_default();
                let api = Api::<RuleObject<NamespacedInjection>>::namespaced(client, namespace);
                patch_status(&api, &object.name, patch).await
            }
        };
        match written {
            Ok(version) => Written::Version(version),
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Written::Refused,
            Err(error) => {
                tracing::debug!(name = object.name, %error, "a status cannot be written; trying again");
                match error {
                    kube::Error::Api(status) if status.code < 500 => Written::Refused,
                    _ => Written::Unknown,
                }
            }
        }
    }
}

/// The answer is read as a [`RuleObject`], which keeps the rules as text: they may nest deeper than a tree of values may, and may hold
/// secrets, which kube would log with an answer that it cannot read.
async fn patch_status<K: RuleKind>(
    objects: &Api<RuleObject<K>>,
    name: &str,
    patch: Value,
) -> Result<String, kube::Error> {
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let written = with_timeout(objects.patch_status(name, &params, &Patch::Merge(patch))).await?;
    Ok(written.resource_version().unwrap_or_default())
}

#[cfg(test)]
mod tests;
