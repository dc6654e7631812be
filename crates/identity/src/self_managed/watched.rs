//! A registered configuration, and what was seen of it so far.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use vestibule_pki::ring::{Mark, Moment};

use super::backoff::{Backoff, Claims, RepairThrottle};
use super::registration::{ConfigSnapshot, EntryMatcher};
use crate::{Desired, RegistrationName};

/// So many versions of the entries are remembered: rules may change for as long as nobody makes the configuration. A replica
/// that holds one of more changes ago waits for a claim, as for anybody's entries.
const MOST_INHERITED: usize = 16;

/// A registered configuration.
pub(super) struct Watched {
    pub(super) name: RegistrationName,
    pub(super) path: String,
    /// What it is to hold besides our bundle.
    pub(super) desired: Option<Desired>,
    /// The hashes of what it was to hold until now, as far as nobody else wrote entries since; the newest last.
    inherited: VecDeque<String>,
    /// The version over which entries were written without an answer: the write may come through yet, over this one only.
    unanswered: Option<String>,
    /// [`None`] before the first look, and while there is no such object.
    pub(super) snapshot: Option<ConfigSnapshot>,
    /// The newest version that was seen; also of an object that is gone since.
    newest: Option<String>,
    /// Since when this replica has seen the mark that it sees.
    marked: Option<(Mark, Moment)>,
    /// The newest mark that this very object, by its uid, was seen with.
    held: Option<(Option<String>, Mark)>,
    pub(super) reading: Backoff,
    pub(super) writing: Backoff,
    pub(super) repair_throttle: RepairThrottle,
    /// A write met a newer version: look before all else.
    pub(super) outdated: bool,
    /// The version that refused our last write.
    refused: Option<String>,
    /// Who wants to write its entries, and since when this replica has seen that without a gap.
    claim: Option<(String, Moment)>,
    pub(super) claims: Claims,
}

/// How a snapshot came about: whether events before it may have been missed hangs on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapshotSource {
    /// An event: those before it came before it.
    Event,
    /// A read or a list: it may have jumped over events.
    Read,
    /// Our own write over the version last seen.
    Write,
}

impl Watched {
    pub(super) fn new(desired: Option<Desired>, name: RegistrationName) -> Self {
        let path = name.path();
        Self {
            name,
            path,
            desired,
            inherited: VecDeque::new(),
            unanswered: None,
            snapshot: None,
            newest: None,
            marked: None,
            held: None,
            reading: Backoff::default(),
            writing: Backoff::default(),
            repair_throttle: RepairThrottle::default(),
            outdated: false,
            refused: None,
            claim: None,
            claims: Claims::default(),
        }
    }

    /// Takes a look in, unless it is older than what was seen. Says whether versions may lie between this look and the
    /// one before, and [`None`] if it is an old one.
    pub(super) fn take(
        &mut self,
        object: &DynamicObject,
        by: SnapshotSource,
        ours: &EntryMatcher,
        now: Moment,
    ) -> Option<bool> {
        let snapshot = ours.see(self.name.kind, object);
        let jumped = match self.newest.as_deref() {
            None => false,
            Some(newest) if newest == snapshot.version => {
                // An event that is no news.
                if by == SnapshotSource::Event {
                    return None;
                }
                false
            }
            Some(newest) if is_older(&snapshot.version, newest) => return None,
            Some(_) => by == SnapshotSource::Read,
        };
        self.newest = Some(snapshot.version.clone());
        if self.marked.map(|(mark, _)| mark) != snapshot.mark {
            self.marked = snapshot.mark.map(|mark| (mark, now));
        }
        if jumped || self.claim.as_ref().map(|(claim, _)| claim) != snapshot.held.claim.as_ref() {
            self.claim = snapshot.held.claim.clone().map(|claim| (claim, now));
        }
        if let Some(owner) = &snapshot.held.owner
            && (!self.inherits(&owner.hash) || self.is_wanted(&owner.hash))
            && self.unanswered.as_deref() != Some(&*snapshot.version)
        {
            // Written over what was inherited, by whomever: from now on others of it are others'. What we wrote ourselves and
            // comes through late is ours to change back.
            self.inherited.clear();
        }
        if let Some(mark) = snapshot.mark {
            self.hold(snapshot.uid.clone(), mark);
        }
        (self.snapshot, self.outdated) = (Some(snapshot), false);
        Some(jumped)
    }

    /// What it is to hold from now on.
    pub(super) fn want(&mut self, desired: Option<Desired>) {
        if desired == self.desired {
            return;
        }
        if let Some(before) = std::mem::replace(&mut self.desired, desired) {
            // What comes back is the newest again.
            self.inherited.retain(|hash| hash != before.hash());
            self.inherited.push_back(before.hash().to_owned());
            if self.inherited.len() > MOST_INHERITED {
                self.inherited.pop_front();
            }
        }
    }

    /// Whether the entries with this hash are those that this process wanted until its desired entries changed. Their other
    /// replicas are told the same, so nobody has to be waited for.
    pub(super) fn inherits(&self, hash: &str) -> bool {
        self.inherited.iter().any(|inherited| inherited == hash)
    }

    fn is_wanted(&self, hash: &str) -> bool {
        self.desired.as_ref().is_some_and(|desired| desired.hash() == hash)
    }

    /// There is no such object. Says whether that is news.
    pub(super) fn take_absence(&mut self, version: Option<String>) -> bool {
        if let (Some(version), Some(newest)) = (version.as_deref(), self.newest.as_deref())
            && is_older(version, newest)
        {
            return false;
        }
        self.newest = version.or(self.newest.take());
        (self.snapshot, self.marked, self.outdated) = (None, None, false);
        self.claim = None;
        true
    }

    fn hold(&mut self, uid: Option<String>, mark: Mark) {
        let is_older = self.held.as_ref().is_some_and(|(held_by, held)| {
            *held_by == uid && held.lineage == mark.lineage && held.generation > mark.generation
        });
        if !is_older {
            self.held = Some((uid, mark));
        }
    }

    /// Whether the object had this mark before: what it lacks now was taken from it, and maybe the mark with it, as
    /// `kubectl replace` does. One that was made again never had it.
    pub(super) fn has_held(&self, mark: Mark) -> bool {
        let uid = self.snapshot.as_ref().map(|snapshot| &snapshot.uid);
        self.held.as_ref().is_some_and(|(held_by, held)| uid == Some(held_by) && *held == mark)
    }

    /// Nobody answered a write of entries over what was seen last.
    pub(super) fn wrote_without_an_answer(&mut self) {
        self.unanswered = self.snapshot.as_ref().map(|snapshot| snapshot.version.clone());
    }

    /// A write was refused. Entries that moved under a patch fail its tests, and that looks the same: only what refuses one
    /// version twice means it.
    pub(super) fn refuses_again(&mut self) -> bool {
        let version = self.snapshot.as_ref().map(|snapshot| snapshot.version.clone());
        let again = self.refused == version;
        self.refused = version;
        again
    }

    /// When its mark last changed: when this replica first saw it, or earlier if the object says so.
    pub(super) fn changed(&self, now: Moment) -> Option<Moment> {
        let snapshot = self.snapshot.as_ref()?;
        let seen = self.marked.map_or(now, |(_, since)| since);
        Some(snapshot.written.map_or(seen, |written| written.min(seen)))
    }

    /// For how long this claim has stood unopposed.
    pub(super) fn claim_age(&self, now: Moment) -> Duration {
        self.claim.as_ref().map_or(Duration::ZERO, |(_, since)| now.since(*since))
    }

    /// Whether a write may be tried now.
    pub(super) fn may_write(&self, now: Instant) -> bool {
        self.writing.allows(now) && self.repair_throttle.allows(now)
    }
}

/// Whether version `one` comes before `other`. Versions of one kind of object are numbers that grow.
pub(super) fn is_older(one: &str, other: &str) -> bool {
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
    fn what_was_desired_before_is_forgotten_at_last() {
        let (mut watched, _) = watched();
        let desired = |number: usize| {
            Desired::new(
                "mutating/x".parse().unwrap(),
                vec![json!({"name": format!("e{number}.example.com"), "clientConfig": {}})],
            )
            .unwrap()
        };
        for number in 0..100 {
            watched.want(Some(desired(number)));
        }
        assert_eq!(watched.inherited.len(), MOST_INHERITED);
        let inherits = |number| watched.inherits(desired(number).hash());
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
    }

    #[test]
    fn what_had_a_mark_and_lost_it_is_told_from_what_is_new() {
        let (mut watched, ours) = watched();
        let mark = |generation| Mark { lineage: Lineage(255), generation };
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
