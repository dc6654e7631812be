//! Decides when desired entries are written, and by which version.

use std::time::Instant;

use vestibule_pki::ring::{Moment, RingFacts};

use super::{Operation, State};
use crate::self_managed::api_client::Purpose;
use crate::self_managed::bundle_patch::with_precondition;
use crate::self_managed::entries::{claim, object_to_claim};
use crate::self_managed::watched::Watched;

impl State {
    pub(in crate::self_managed) fn serving(&mut self, at: Instant) {
        self.serving.get_or_insert(at);
    }

    /// From now on no entry, bundle or claim is written, because this process ends soon. It still objects to claims while it
    /// answers calls.
    pub(in crate::self_managed) fn draining(&mut self) {
        self.is_draining = true;
    }

    /// Writes entries after the settle time, and only with a valid leaf.
    pub(super) fn register(&self, now: Moment, at: Instant) -> Option<Operation> {
        let now = self.corrected(now);
        let has_settled = |since| at.saturating_duration_since(since) >= self.settings.settle;
        if !self.serving.is_some_and(has_settled) || !self.seen.has_leaf(now) {
            return None;
        }
        (0..self.registrations.len()).find_map(|position| self.register_at(position, now, at))
    }

    fn register_at(&self, position: usize, now: Moment, at: Instant) -> Option<Operation> {
        let watched = self.registrations.get(position)?;
        let next =
            watched.next_move(now, at, self.settings.policy.hold_cold).filter(|_| watched.may_write(at))?;
        if self.is_draining && next != Purpose::Objection {
            return None;
        }
        if let Purpose::Entries { .. } = next
            && let Some(seen) = self.seen.configurations.get(position)
        {
            // An entry is written together with a bundle that verifies every replica's leaf: rules W2, W3.
            if !self.may_write_entries(position) {
                return None;
            }
            if !seen.ring_read_since {
                return self.reading.allows(at).then_some(Operation::ReadRing);
            }
        }
        let bundle = self.ca_bundle.clone()?;
        let (snapshot, desired) = (watched.snapshot.as_ref()?, watched.desired.as_ref()?);
        let operations = match next {
            Purpose::Claim => claim(desired),
            Purpose::Objection => object_to_claim(),
            Purpose::Entries { .. } | Purpose::Bundle { .. } => snapshot.held.write(desired, &bundle),
        };
        Some(Operation::Publish { position, patch: with_precondition(snapshot, operations), purpose: next })
    }

    /// Whether entries may be written: the object holds the bundle of the ring that this replica knows, and takes our writes.
    fn may_write_entries(&self, position: usize) -> bool {
        let Some(RingFacts::Known(facts)) = &self.ring else { return false };
        let is_denied = self.seen.configurations.get(position).is_some_and(|seen| seen.denied);
        self.seen.memory.as_ref() == Some(facts) && !is_denied && self.is_in_sync(position, facts)
    }
}

impl Watched {
    /// A new version takes over the entries when no replica of the owner objects any more. So the API server calls a new hook only
    /// when every replica answers it, and an old pod that restarts does not take the entries back.
    fn next_move(&self, now: Moment, at: Instant, hold: std::time::Duration) -> Option<Purpose> {
        let desired = self.desired.as_ref()?;
        let held = &self.snapshot.as_ref()?.held;
        let own = Some(&*desired.hash);
        match &held.owner {
            None => (!desired.entries().is_empty()).then_some(Purpose::Entries { is_repair: false }),
            Some(owner) if Some(owner.hash.as_str()) == own => {
                let lacks = held.lacks(desired).then_some(Purpose::Entries { is_repair: true });
                lacks.or(held.claim.is_some().then_some(Purpose::Objection))
            }
            Some(owner) if self.inherits(&owner.hash) => Some(Purpose::Entries { is_repair: false }),
            Some(_) => match held.claim.as_deref() {
                claim if claim == own => {
                    (self.claim_age(now) > hold).then_some(Purpose::Entries { is_repair: false })
                }
                // The claim is of a version that is gone, or of earlier desired entries of this one.
                Some(_) if self.claim_age(now) <= hold.saturating_mul(2) => None,
                _ => self.claims.allows(at).then_some(Purpose::Claim),
            },
        }
    }
}
