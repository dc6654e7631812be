//! Takes in the answers about the ring's Secret. `configurations` does the same for the registered objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use vestibule_pki::Bundle;
use vestibule_pki::ring::{Change, Moment, Reading, Ring, RingFacts};

use super::{RingWrite, State};
use crate::IdentityEvent;
use crate::self_managed::api_client::{Answer, ApiError, ApiErrorKind};
use crate::self_managed::notices::About;
use crate::self_managed::ring_secret::{Fields, RingSecret};

/// The most past bundles that are remembered.
const PAST: usize = 8;

impl State {
    pub(in crate::self_managed) fn ring_answered(&mut self, answer: Answer, now: Moment, at: Instant) {
        let sent = answer.sent;
        match self.dated(answer, now) {
            Ok(object) => match RingSecret::read(&object) {
                Some((secret, fields)) => {
                    self.read = Some(at);
                    self.ring_found(secret, &fields, now);
                    self.confirmed_when(sent, at);
                }
                None => self.ring_not_read(&ApiError::unreadable(), at),
            },
            Err(error) if error.kind == ApiErrorKind::NotFound => {
                self.read = Some(at);
                let absent = RingSecret::absent(&self.secret_name, &self.settings.manager);
                self.ring_found(absent, &Fields::new(), now);
                self.confirmed_when(sent, at);
            }
            Err(error) => self.ring_not_read(&error, at),
        }
    }

    /// Rule S3: an answer confirms the ring at the time of the request, not of the answer.
    fn confirmed_when(&mut self, sent: Instant, at: Instant) {
        let late = at.saturating_duration_since(sent);
        self.seen.confirmed = self.seen.confirmed.map(|confirmed| confirmed.minus(late));
    }

    fn ring_not_read(&mut self, error: &ApiError, at: Instant) {
        self.reading.failed(at);
        let text = format!("Secret {} cannot be read: {}", self.secret_name, error.text);
        // An unreachable API server takes no Event either.
        let reason = (error.kind == ApiErrorKind::Forbidden).then_some("RingNotReadable");
        self.failed(About::Ring, reason, text);
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
        if continues {
            self.remembered.clone_from(&self.stored);
        }
        if !is_same {
            self.ca_crt_differs = self.stored.as_ref().is_some_and(|ring| ca_crt_differs(ring, fields));
            if !continues && self.seen.memory.is_some() && !matches!(ring, RingFacts::Newer(_)) {
                let text = format!(
                    "the ring in Secret {} was deleted, damaged, rolled back or replaced: it does not follow from \
                     the ring, the certificate and the configurations that this replica knows",
                    self.secret_name
                );
                let event = Some(IdentityEvent::Discontinuity);
                self.notify(About::Ring, (true, Some("RingDiscontinued")), text, event);
            }
            self.know_bundle(now);
        }
    }

    fn decode(&mut self, fields: &Fields, now: Moment) -> (RingFacts, Option<Ring>) {
        let reading = Ring::read(Some(fields), self.secret.requests(), self.corrected(now));
        if let Reading::Unreadable(error) = &reading {
            let text = format!("Secret {} cannot be used and is repaired: {error}", self.secret_name);
            self.warn("RingUnreadable", text);
        }
        let facts = reading.facts();
        let ring = match reading {
            Reading::Known(ring) | Reading::Newer(Some(ring)) => Some(*ring),
            Reading::Absent | Reading::Unreadable(_) | Reading::Newer(None) => None,
        };
        (facts, ring)
    }

    /// Remembers the stored ring's bundle, which configurations with a mark and no entries count as holding.
    fn know_bundle(&mut self, now: Moment) {
        let Some(ring) = &self.stored else { return };
        self.ca_bundle = Some(ring.bundle_pem().into());
        let facts = ring.facts();
        let certificates: BTreeMap<_, _> =
            facts.bundle().into_iter().filter_map(|id| Some((id, ring.certificate(id)?.clone()))).collect();
        let mark = facts.mark();
        self.past.retain(|(past, _)| *past != mark);
        self.past.push((mark, certificates));
        if self.past.len() > PAST {
            self.past.remove(0);
        }
        for position in 0..self.registrations.len() {
            let snapshot = self.registrations.get(position).and_then(|watched| watched.snapshot.as_ref());
            let shows_mark_alone =
                snapshot.is_some_and(|snapshot| snapshot.entries.is_empty() && snapshot.mark == Some(mark));
            let seen = self.seen.configurations.get(position);
            if shows_mark_alone && seen.is_some_and(|seen| seen.bundle.is_empty()) {
                self.observe(position, now);
            }
        }
    }

    pub(in crate::self_managed) fn ring_write_answered(
        &mut self,
        write: RingWrite,
        answer: Answer,
        now: Moment,
        at: Instant,
    ) {
        let (name, sent) = (self.secret_name.clone(), answer.sent);
        match self.dated(answer, now) {
            Ok(object) => match RingSecret::read(&object) {
                Some((secret, _)) => {
                    self.ring_written(write, secret, now, at);
                    self.confirmed_when(sent, at);
                }
                None => self.is_stale = true,
            },
            Err(error) => {
                self.is_stale = true;
                match error.kind {
                    ApiErrorKind::Conflict => return self.writing.lost_race(at),
                    ApiErrorKind::NotFound if !write.creates => return,
                    ApiErrorKind::Forbidden | ApiErrorKind::Refused => self.writing.refused(at),
                    ApiErrorKind::NotFound | ApiErrorKind::Unreachable => self.writing.failed(at),
                }
                let text = match (error.kind, write.creates) {
                    (ApiErrorKind::Forbidden, true) => format!(
                        "Secret {name} is not there and may not be created ({}): kubectl create secret generic {} -n {}",
                        error.text, name.name, name.namespace
                    ),
                    _ => format!("the ring cannot be written into Secret {name}: {}", error.text),
                };
                self.failed(About::Ring, Some("RingNotWritten"), text);
            }
        }
    }

    fn ring_written(&mut self, write: RingWrite, secret: RingSecret, now: Moment, at: Instant) {
        let RingWrite { change, ring, .. } = write;
        let facts = ring.facts().clone();
        if matches!(change, Some(Change::Restore { .. }) | None) {
            self.repair_throttle.repaired(at);
        }
        self.seen.ring_written(&facts, now, &self.settings.policy);
        (self.secret, self.is_stale, self.ca_crt_differs, self.planned) = (secret, false, false, None);
        (self.ring, self.stored) = (Some(RingFacts::Known(facts.clone())), Some(Arc::new(ring)));
        self.writing.clear();
        self.remembered.clone_from(&self.stored);
        self.know_bundle(now);
        let (word, reason) = match &change {
            None => ("repaired", Some("RingRepaired")),
            Some(Change::Create { .. }) => ("created", None),
            Some(Change::Restore { .. }) => ("restored", Some("RingRepaired")),
            Some(Change::Graft { .. }) => ("grafted", Some("RingRepaired")),
            Some(Change::Hold(_)) => ("held", None),
            Some(Change::Promote) => ("promoted", Some("RingPromoted")),
            Some(Change::Remove(_)) => ("removed", None),
            Some(Change::Revoke) => ("revoked", Some("RingRevoked")),
        };
        let text =
            format!("the ring in Secret {} is at generation {}: {word}", self.secret_name, facts.generation);
        let event = Some(IdentityEvent::RingWritten { change: word });
        self.notify(About::Ring, (false, reason), text, event);
    }
}

/// Whether `ca.crt` holds other certificates than the ring's bundle. Its formatting does not count: replicas of two versions
/// may format it differently, and would overwrite each other for ever.
fn ca_crt_differs(ring: &Ring, fields: &Fields) -> bool {
    let bytes = fields.get("ca.crt").map_or(&[] as &[u8], |bytes| bytes);
    !Bundle::read(bytes).certificates.into_keys().eq(ring.facts().bundle())
}
