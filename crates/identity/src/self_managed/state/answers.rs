//! What the API server's answers change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use kube::api::DynamicObject;
use vestibule_pki::ring::{Blocked, Change, Moment, Reading, Ring, RingFacts};

use super::prepare::mark;
use super::{RingWrite, State};
use crate::Happening;
use crate::self_managed::conversation::{Answer, Trouble, TroubleKind};
use crate::self_managed::ring_secret::{Fields, RingSecret};
use crate::self_managed::watched::By;

/// Rings that are remembered by their certificates.
const PAST: usize = 8;
/// Clocks this close are the same: an answer takes time, and its date has whole seconds.
const SAME_SECOND: u64 = 2;

impl State {
    pub(in crate::self_managed) fn ring_answered(&mut self, answer: Answer, now: Moment, at: Instant) {
        match self.dated(answer, now) {
            Ok(object) => match RingSecret::read(&object) {
                Some((secret, fields)) => {
                    self.read = Some(at);
                    self.ring_found(secret, &fields, now);
                }
                None => self.ring_not_read(&Trouble::unreadable(), at),
            },
            Err(trouble) if trouble.kind == TroubleKind::NotFound => {
                self.read = Some(at);
                self.ring_found(RingSecret::absent(&self.secret_name), &Fields::new(), now);
            }
            Err(trouble) => self.ring_not_read(&trouble, at),
        }
    }

    fn ring_not_read(&mut self, trouble: &Trouble, at: Instant) {
        self.reading.failed(at);
        let text = format!("Secret {} cannot be read: {}", self.secret_name, trouble.text);
        self.failed(None, text);
    }

    fn ring_found(&mut self, secret: RingSecret, fields: &Fields, now: Moment) {
        let is_known = matches!(self.ring, Some(RingFacts::Known(_)));
        let is_same = is_known && secret.version().is_some() && secret.version() == self.secret.version();
        (self.is_stale, self.secret) = (false, secret);
        self.reading.clear();
        if !is_same {
            self.planned = None;
            let (ring, stored) = self.decode(fields, now);
            (self.ring, self.stored) = (Some(ring), stored.map(Arc::new));
        }
        let Some(ring) = self.ring.clone() else { return };
        self.seen.ring_read(&ring, now, &self.settings.policy);
        let continues = ring.facts().is_some() && ring.facts() == self.seen.memory.as_ref();
        if !is_same {
            if continues {
                self.remember();
            } else if self.seen.memory.is_some() && !matches!(ring, RingFacts::Newer(_)) {
                let text =
                    format!("the ring in Secret {} does not continue what is known of it", self.secret_name);
                self.discontinued(text);
            }
            self.know_bundle(now);
        }
    }

    fn decode(&mut self, fields: &Fields, now: Moment) -> (RingFacts, Option<Ring>) {
        let reading = Ring::read(Some(fields), self.secret.requests(), self.corrected(now));
        if let Reading::Unreadable(error) = &reading {
            let text = format!("Secret {} cannot be used and is repaired: {error}", self.secret_name);
            self.trouble(Some("RingUnreadable"), text);
        }
        let facts = reading.facts();
        let ring = match reading {
            Reading::Known(ring) | Reading::Newer(Some(ring)) => Some(*ring),
            Reading::Absent | Reading::Unreadable(_) | Reading::Newer(None) => None,
        };
        (facts, ring)
    }

    fn remember(&mut self) {
        self.remembered.clone_from(&self.stored);
    }

    /// What the stored ring's bundle is, and with it what configurations hold that show a mark alone.
    fn know_bundle(&mut self, now: Moment) {
        let Some(ring) = &self.stored else { return };
        self.ca_bundle = Some(ring.bundle_pem().into());
        let facts = ring.facts();
        let certificates: BTreeMap<_, _> =
            facts.trusted().into_iter().filter_map(|id| Some((id, ring.certificate(id)?.clone()))).collect();
        let mark = mark(facts);
        self.past.retain(|(past, _)| *past != mark);
        self.past.push((mark, certificates));
        if self.past.len() > PAST {
            self.past.remove(0);
        }
        let shows_mark_alone =
            |sight: &super::super::registration::Sight| sight.entries.is_empty() && sight.mark == Some(mark);
        let positions: Vec<_> = (0..self.registrations.len())
            .filter(|at| {
                self.registrations
                    .get(*at)
                    .and_then(|watched| watched.sight.as_ref())
                    .is_some_and(shows_mark_alone)
            })
            .filter(|at| self.seen.configurations.get(*at).is_some_and(|seen| seen.bundle.is_empty()))
            .collect();
        for position in positions {
            self.see(position, now);
        }
    }

    pub(in crate::self_managed) fn ring_write_answered(
        &mut self,
        write: RingWrite,
        answer: Answer,
        now: Moment,
        at: Instant,
    ) {
        let name = self.secret_name.clone();
        match self.dated(answer, now) {
            Ok(object) => match RingSecret::read(&object) {
                Some((secret, _)) => self.ring_written(write, secret, now),
                None => self.is_stale = true,
            },
            Err(trouble) => {
                self.is_stale = true;
                match trouble.kind {
                    TroubleKind::Conflict => return self.writing.outrun(at),
                    TroubleKind::NotFound if !write.creates => return,
                    TroubleKind::Forbidden | TroubleKind::Refused => self.writing.refused(at),
                    TroubleKind::NotFound | TroubleKind::Unreachable => self.writing.failed(at),
                }
                let text = match (trouble.kind, write.creates) {
                    (TroubleKind::Forbidden, true) => format!(
                        "Secret {name} is not there and may not be created ({}): kubectl create secret generic {} -n {}",
                        trouble.text, name.name, name.namespace
                    ),
                    _ => format!("the ring cannot be written into Secret {name}: {}", trouble.text),
                };
                self.failed(Some("RingNotWritten"), text);
            }
        }
    }

    fn ring_written(&mut self, write: RingWrite, secret: RingSecret, now: Moment) {
        let RingWrite { change, ring, .. } = write;
        let facts = ring.facts().clone();
        if matches!(change, Change::Restore { .. }) {
            self.seen.restored = Some(self.corrected(now));
        }
        self.seen.ring_written(&facts, now, &self.settings.policy);
        (self.secret, self.is_stale, self.planned) = (secret, false, None);
        (self.ring, self.stored) = (Some(RingFacts::Known(facts.clone())), Some(Arc::new(ring)));
        self.writing.clear();
        self.remember();
        self.know_bundle(now);
        let (word, reason) = match &change {
            Change::Create { .. } => ("created", None),
            Change::Restore { .. } => ("restored", Some("RingRepaired")),
            Change::Graft { .. } => ("grafted", Some("RingRepaired")),
            Change::Hold(_) => ("held", None),
            Change::Promote => ("promoted", Some("RingPromoted")),
            Change::Remove(_) => ("removed", None),
            Change::Revoke => ("revoked", Some("RingRevoked")),
        };
        let text =
            format!("the ring in Secret {} is at generation {}: {word}", self.secret_name, facts.generation);
        self.tell(reason, text, Some(Happening::RingWritten { change: word }));
    }

    pub(in crate::self_managed) fn configuration_answered(
        &mut self,
        position: usize,
        answer: Answer,
        now: Moment,
        at: Instant,
    ) {
        let outcome = self.dated(answer, now);
        let outcome = outcome.and_then(|object| parse(&object));
        let Some(watched) = self.registrations.get_mut(position) else { return };
        match outcome {
            Ok(object) => {
                watched.reading.clear();
                self.take(position, &object, By::Read, now);
            }
            Err(trouble) if trouble.kind == TroubleKind::NotFound => {
                watched.take_absence(None);
                self.see(position, now);
            }
            Err(trouble) => {
                let reason = if trouble.kind == TroubleKind::Forbidden {
                    watched.reading.refused(at);
                    if let Some(seen) = self.seen.configurations.get_mut(position) {
                        seen.denied = true;
                    }
                    Some("RegistrationDenied")
                } else {
                    watched.reading.failed(at);
                    None
                };
                let text = format!("{} cannot be read: {}", watched.name, trouble.text);
                self.failed_at(position, reason, text);
            }
        }
    }

    pub(in crate::self_managed) fn patch_answered(
        &mut self,
        (position, is_repair): (usize, bool),
        answer: Answer,
        now: Moment,
        at: Instant,
    ) {
        let outcome = self.dated(answer, now);
        let outcome = outcome.and_then(|object| parse(&object));
        let Some(watched) = self.registrations.get_mut(position) else { return };
        match outcome {
            Ok(object) => {
                watched.writing.clear();
                let repaired_from = if is_repair {
                    watched.quarrel.repaired(at);
                    let other = watched.sight.as_ref().and_then(|sight| sight.other_manager.clone());
                    Some(other.unwrap_or_else(|| "an unknown manager".to_owned()))
                } else {
                    None
                };
                self.take(position, &object, By::Write, now);
                self.published(position, repaired_from);
            }
            Err(trouble) => {
                watched.outdated = true;
                match trouble.kind {
                    TroubleKind::Conflict => return watched.writing.outrun(at),
                    TroubleKind::NotFound => return,
                    TroubleKind::Unreachable => watched.writing.failed(at),
                    TroubleKind::Forbidden | TroubleKind::Refused => {
                        watched.writing.refused(at);
                        if let Some(seen) = self.seen.configurations.get_mut(position) {
                            seen.denied = true;
                        }
                    }
                }
                let text = format!("the caBundle of {} cannot be written: {}", watched.name, trouble.text);
                let reason = (trouble.kind != TroubleKind::Unreachable).then_some("RegistrationDenied");
                self.failed_at(position, reason, text);
            }
        }
    }

    /// Rule C1: the clock is the API server's.
    fn dated(&mut self, answer: Answer, now: Moment) -> Result<Vec<u8>, Trouble> {
        if let Some(date) = answer.date {
            let offset = i64::try_from(date.0).unwrap_or(i64::MAX).saturating_sub_unsigned(now.0);
            if offset.abs_diff(self.seen.offset) > SAME_SECOND {
                self.seen.offset = offset;
                self.nothing_is_to_come(now);
                if offset.unsigned_abs() > self.settings.policy.skew.as_secs() {
                    self.report(Blocked::Clock);
                }
            }
        }
        answer.outcome
    }

    /// Where a clock was set back, what was seen lies in the future: it counts from now on.
    fn nothing_is_to_come(&mut self, now: Moment) {
        let now = self.corrected(now);
        for seen in &mut self.seen.configurations {
            seen.bundle.values_mut().chain([&mut seen.read]).chain(&mut seen.changed).for_each(|moment| {
                *moment = now.min(*moment);
            });
        }
        if let Some(leaf) = &mut self.seen.leaf
            && leaf.not_after > now.plus(self.settings.policy.leaf_life)
        {
            (leaf.renew, leaf.not_after) = (now, now.plus(self.settings.policy.leaf_life / 2));
        }
        self.seen.confirmed = self.seen.confirmed.map(|confirmed| confirmed.min(now));
    }
}

fn parse(object: &[u8]) -> Result<DynamicObject, Trouble> {
    serde_json::from_slice(object).map_err(|_| Trouble::unreadable())
}
