//! A registered configuration, and its history as this replica saw it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use vestibule_pki::ring::{BundleMark, Moment};

use super::backoff::{Backoff, Claims, RepairThrottle};
use super::registration::{ConfigSnapshot, EntryMatcher};
use crate::{Desired, RegistrationName};

/// The most earlier versions of desired entries that are remembered while the configuration does not exist. Entries of an older
/// version are taken over by a claim, like the entries of another program version.
const MOST_INHERITED: usize = 16;

/// A registered configuration.
pub(super) struct Watched {
    pub(super) name: RegistrationName,
    /// Its desired entries.
    pub(super) desired: Option<Desired>,
    /// The hashes of this process's earlier desired entries, the newest last; cleared when another version writes entries.
    inherited: VecDeque<String>,
    /// The version over which entries were written without an answer. The write may still be applied, over this version only.
    unanswered: Option<String>,
    /// [`None`] before the first read, and while the object is absent.
    pub(super) snapshot: Option<ConfigSnapshot>,
    /// The newest version that was seen, also of a deleted object.
    newest: Option<String>,
    /// The current mark, and since when this replica has seen it.
    marked: Option<(BundleMark, Moment)>,
    /// The newest mark that the object with this uid had.
    held: Option<(Option<String>, BundleMark)>,
    pub(super) reading: Backoff,
    /// When a GET last read it; before the first one, when it was first due.
    pub(super) read_at: Option<Instant>,
    pub(super) writing: Backoff,
    pub(super) repair_throttle: RepairThrottle,
    /// Whether it must be read before anything else, because a write met a newer version.
    pub(super) outdated: bool,
    /// The version that refused our last write.
    refused: Option<String>,
    /// The claim to its entries, and since when this replica has seen it without a gap.
    claim: Option<(String, Moment)>,
    pub(super) claims: Claims,
}

/// The source of a snapshot, which decides whether events before it may have been missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapshotSource {
    /// A watch event; no earlier event was missed.
    Event,
    /// The list at the start of a watch, which may have skipped events.
    List,
    /// A read at quorum, which may have skipped events. It is right even if its version is older: etcd was restored from a snapshot.
    Read,
    /// Our own write over the last version.
    Write,
}

impl Watched {
    pub(super) fn new(desired: Option<Desired>, name: RegistrationName) -> Self {
        Self {
            name,
            desired,
            inherited: VecDeque::new(),
            unanswered: None,
            snapshot: None,
            newest: None,
            marked: None,
            held: None,
            reading: Backoff::default(),
            read_at: None,
            writing: Backoff::default(),
            repair_throttle: RepairThrottle::default(),
            outdated: false,
            refused: None,
            claim: None,
            claims: Claims::default(),
        }
    }

    /// Takes in a version. Returns whether versions between this one and the last may have been missed, and [`None`] if this one
    /// is older than the last; an older event or list is followed by a read.
    pub(super) fn take(
        &mut self,
        object: &DynamicObject,
        by: SnapshotSource,
        ours: &EntryMatcher,
        now: Moment,
    ) -> Option<bool> {
        let snapshot = ours.snapshot(self.name.kind, object);
        let jumped = match self.newest.as_deref() {
            None => false,
            Some(newest) if newest == snapshot.version => {
                // The event of a version that was read already.
                if by == SnapshotSource::Event {
                    return None;
                }
                false
            }
            Some(newest) if by != SnapshotSource::Read && is_older(&snapshot.version, newest) => {
                self.outdated = true;
                return None;
            }
            Some(_) => matches!(by, SnapshotSource::List | SnapshotSource::Read),
        };
        self.newest = Some(snapshot.version.clone());
        if self.marked.map(|(mark, _)| mark) != snapshot.mark {
            self.marked = snapshot.mark.map(|mark| (mark, now));
        }
        if jumped || self.claim.as_ref().map(|(claim, _)| claim) != snapshot.held.claim.as_ref() {
            self.claim = snapshot.held.claim.clone().map(|claim| (claim, now));
        }
        if let Some(owner) = &snapshot.held.owner
            && (!self.inherits(&owner.hash)
                || self.desired.as_ref().is_some_and(|desired| desired.hash == owner.hash))
            && self.unanswered.as_deref() != Some(&*snapshot.version)
        {
            // Another version wrote entries, so earlier entries of ours need a claim again. A late write of ours does not count.
            self.inherited.clear();
        }
        if let Some(mark) = snapshot.mark {
            self.record_mark(snapshot.uid.clone(), mark);
        }
        (self.snapshot, self.outdated) = (Some(snapshot), false);
        Some(jumped)
    }

    pub(super) fn set_desired(&mut self, desired: Option<Desired>) {
        if desired == self.desired {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.desired, desired) {
            // A version that was desired before becomes the newest again.
            self.inherited.retain(|hash| *hash != before.hash);
            self.inherited.push_back(before.hash);
            if self.inherited.len() > MOST_INHERITED {
                self.inherited.pop_front();
            }
        }
    }

    /// Whether the entries with this hash are earlier desired entries of this process. Its other replicas change theirs too, so no
    /// claim is needed.
    pub(super) fn inherits(&self, hash: &str) -> bool {
        self.inherited.iter().any(|inherited| inherited == hash)
    }

    /// Records that the object is absent. Returns whether that is new.
    pub(super) fn take_absence(&mut self, version: Option<String>) -> bool {
        if let (Some(version), Some(newest)) = (version.as_deref(), self.newest.as_deref())
            && is_older(version, newest)
        {
            self.outdated = true;
            return false;
        }
        self.newest = version.or(self.newest.take());
        (self.snapshot, self.marked, self.outdated) = (None, None, false);
        self.claim = None;
        true
    }

    fn record_mark(&mut self, uid: Option<String>, mark: BundleMark) {
        let is_older = self.held.as_ref().is_some_and(|(held_by, held)| {
            *held_by == uid && held.lineage == mark.lineage && held.generation > mark.generation
        });
        if !is_older {
            self.held = Some((uid, mark));
        }
    }

    /// Whether the object with this uid had this mark before, so that a missing bundle is a repair, as after `kubectl replace`. A
    /// recreated object never had it.
    pub(super) fn has_held(&self, mark: BundleMark) -> bool {
        let uid = self.snapshot.as_ref().map(|snapshot| &snapshot.uid);
        self.held.as_ref().is_some_and(|(held_by, held)| uid == Some(held_by) && *held == mark)
    }

    /// Records a write of entries over the last version that got no answer.
    pub(super) fn wrote_without_an_answer(&mut self) {
        self.unanswered = self.snapshot.as_ref().map(|snapshot| snapshot.version.clone());
    }

    /// Records a refused write. A patch whose entries moved is refused too, so only a second refusal of one version counts.
    pub(super) fn refuses_again(&mut self) -> bool {
        let version = self.snapshot.as_ref().map(|snapshot| snapshot.version.clone());
        let again = self.refused == version;
        self.refused = version;
        again
    }

    /// When its mark last changed: when this replica first saw it, or earlier by `managedFields`.
    pub(super) fn changed(&self, now: Moment) -> Option<Moment> {
        let snapshot = self.snapshot.as_ref()?;
        let seen = self.marked.map_or(now, |(_, since)| since);
        Some(snapshot.written.map_or(seen, |written| written.min(seen)))
    }

    /// The age of the claim.
    pub(super) fn claim_age(&self, now: Moment) -> Duration {
        self.claim.as_ref().map_or(Duration::ZERO, |(_, since)| now.since(*since))
    }

    /// Whether it must be read now: it is outdated, or was not read for this long. After a restore of etcd a watch may be silent.
    pub(super) fn must_read(&mut self, period: Duration, now: Instant) -> bool {
        let read_at = *self.read_at.get_or_insert(now);
        (self.outdated || now.saturating_duration_since(read_at) >= period) && self.reading.allows(now)
    }

    /// Whether a write may be tried now.
    pub(super) fn may_write(&self, now: Instant) -> bool {
        self.writing.allows(now) && self.repair_throttle.allows(now)
    }
}

/// Whether version `one` comes before `other`. Versions of one kind of object are numbers that grow, until etcd is restored from a
/// snapshot.
fn is_older(one: &str, other: &str) -> bool {
    matches!((one.parse::<u64>(), other.parse::<u64>()), (Ok(one), Ok(other)) if one < other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_pki::ring::Lineage;

    use super::*;
    use crate::{NamespacedName, Settings};

    fn object(version: u64) -> DynamicObject {
        serde_json::from_value(json!({ "metadata": { "name": "x", "resourceVersion": version.to_string() } }))
            .unwrap()
    }

    fn watched() -> (Watched, EntryMatcher) {
        let service = NamespacedName { namespace: "demo".to_owned(), name: "hooks".to_owned() };
        (Watched::new(None, "x".parse().unwrap()), EntryMatcher::new(&Settings::for_service(service)))
    }

    /// While there is no configuration, nothing is ever written over what was inherited.
    #[test]
    fn only_the_last_sixteen_earlier_desired_entries_are_remembered() {
        let (mut watched, _) = watched();
        let desired = |number: usize| {
            Desired::new(
                "mutating/x".parse().unwrap(),
                vec![json!({"name": format!("e{number}.example.com"), "clientConfig": {}})],
            )
            .unwrap()
        };
        for number in 0..100 {
            watched.set_desired(Some(desired(number)));
        }
        assert_eq!(watched.inherited.len(), MOST_INHERITED);
        let inherits = |number| watched.inherits(&desired(number).hash);
        assert!(inherits(98) && inherits(83) && !inherits(82) && !inherits(99));
    }

    #[test]
    fn only_a_read_of_another_version_may_have_jumped() {
        let (mut watched, ours) = watched();
        let mut take = |version, by| watched.take(&object(version), by, &ours, Moment(0));
        assert_eq!(take(5, SnapshotSource::Read), Some(false), "nothing was seen before");
        assert_eq!(take(5, SnapshotSource::Event), None, "the event of what was read");
        assert_eq!(take(5, SnapshotSource::Read), Some(false), "nothing happened");
        assert_eq!(take(6, SnapshotSource::Event), Some(false));
        assert_eq!(take(8, SnapshotSource::Write), Some(false));
        assert_eq!(take(7, SnapshotSource::Event), None, "old");
        assert_eq!(take(8, SnapshotSource::Event), None);
        assert_eq!(take(10, SnapshotSource::Read), Some(true));
        assert_eq!(take(9, SnapshotSource::List), None, "listed before the read");
        assert_eq!(take(11, SnapshotSource::List), Some(true));
        assert_eq!(take(3, SnapshotSource::Read), Some(true), "etcd was restored");
        assert_eq!(take(4, SnapshotSource::Event), Some(false));
    }

    #[test]
    fn an_old_version_is_followed_by_a_read() {
        let (mut watched, ours) = watched();
        for version in [5, 3] {
            watched.take(&object(version), SnapshotSource::Event, &ours, Moment(0));
        }
        assert!(watched.outdated);
        watched.take(&object(5), SnapshotSource::Read, &ours, Moment(0));
        assert!(!watched.outdated);
        watched.take_absence(Some("3".to_owned()));
        assert!(watched.outdated && watched.snapshot.is_some());
    }

    #[test]
    fn an_object_that_lost_its_mark_differs_from_a_new_one() {
        let (mut watched, ours) = watched();
        let mark = |generation| BundleMark { lineage: Lineage(255), generation };
        let mut take = |version: u64, uid: &str, generation: Option<u64>| {
            let mut object = object(version);
            object.metadata.uid = Some(uid.to_owned());
            object.metadata.annotations = generation.map(|generation| {
                let lineage = ("vestibule.dev/ca-lineage".to_owned(), "ff".to_owned());
                [lineage, ("vestibule.dev/ca-generation".to_owned(), generation.to_string())].into()
            });
            watched.take(&object, SnapshotSource::Event, &ours, Moment(0));
            watched.has_held(mark(2))
        };
        assert!(!take(1, "a", None), "new");
        assert!(!take(2, "a", Some(1)), "of the generation before");
        assert!(take(3, "a", Some(2)));
        assert!(take(4, "a", None), "replaced");
        assert!(take(5, "a", Some(1)), "brought back to an earlier version");
        assert!(!take(6, "b", None), "made again");
    }

    #[test]
    fn an_object_that_is_gone_does_not_come_back_by_old_events() {
        let (mut watched, ours) = watched();
        watched.take(&object(5), SnapshotSource::Event, &ours, Moment(0));
        assert!(!watched.take_absence(Some("4".to_owned())), "deleted before it was made again");
        assert!(watched.take_absence(Some("9".to_owned())));
        assert_eq!(watched.take(&object(7), SnapshotSource::Event, &ours, Moment(0)), None);
        assert_eq!(watched.take(&object(10), SnapshotSource::Event, &ours, Moment(0)), Some(false));
    }
}
