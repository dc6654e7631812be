//! Takes in the answers about configurations.

use std::time::Instant;

use kube::api::DynamicObject;
use vestibule_pki::ring::{Moment, RingFacts};

use super::State;
use crate::RegistrationKind;
use crate::self_managed::api_client::{Answer, ApiError, ApiErrorKind, Purpose};
use crate::self_managed::notices::About;
use crate::self_managed::watched::SnapshotSource;

impl State {
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
        if !matches!(&outcome, Err(error) if error.kind != ApiErrorKind::NotFound) {
            watched.read_at = Some(at);
        }
        match outcome {
            Ok(object) => {
                watched.reading.clear();
                self.take(position, &object, SnapshotSource::Read, now);
            }
            Err(error) if error.kind == ApiErrorKind::NotFound => {
                self.absent(position, None, now);
            }
            Err(error) => {
                let reason = if error.kind == ApiErrorKind::Forbidden {
                    watched.reading.refused(at);
                    // Its content is unknown now; it is read again as soon as that is allowed.
                    watched.outdated = true;
                    self.seen.configuration_missed(position);
                    self.deny(position);
                    Some("RegistrationDenied")
                } else {
                    watched.reading.failed(at);
                    None
                };
                let Some(watched) = self.registrations.get(position) else { return };
                let text = format!("{} cannot be read: {}", watched.name, error.text);
                self.failed(About::Configuration(position), reason, text);
            }
        }
    }

    pub(in crate::self_managed) fn patch_answered(
        &mut self,
        (position, purpose): (usize, Purpose),
        answer: Answer,
        now: Moment,
        at: Instant,
    ) {
        let outcome = self.dated(answer, now);
        let outcome = outcome.and_then(|object| parse(&object));
        let Some(watched) = self.registrations.get_mut(position) else { return };
        let is_unanswered = matches!(&outcome, Err(error) if error.kind == ApiErrorKind::Unreachable);
        // A patch without an answer may have been applied.
        if purpose == Purpose::Claim && (outcome.is_ok() || is_unanswered) {
            watched.claims.made(at, self.settings.policy.hold_cold);
        }
        if matches!(purpose, Purpose::Entries { .. }) && is_unanswered {
            watched.wrote_without_an_answer();
        }
        match outcome {
            Ok(object) => {
                let repaired_from = if purpose.is_repair() {
                    watched.repair_throttle.repaired(at);
                    let other = watched.snapshot.as_ref().and_then(|snapshot| snapshot.other_manager.clone());
                    Some(other.unwrap_or_else(|| "an unknown manager".to_owned()))
                } else {
                    None
                };
                self.take(position, &object, SnapshotSource::Write, now);
                match purpose {
                    Purpose::Bundle { .. } if self.is_bundle_kept(position, at) => {
                        self.published(position, repaired_from);
                    }
                    Purpose::Entries { .. } if self.is_owner_kept(position, at) => {
                        self.registered(position, repaired_from);
                    }
                    Purpose::Claim | Purpose::Objection => self.written(position, true, at),
                    Purpose::Bundle { .. } | Purpose::Entries { .. } => {}
                }
            }
            Err(error) => {
                watched.outdated = true;
                match error.kind {
                    ApiErrorKind::Conflict => return watched.writing.lost_race(at),
                    ApiErrorKind::NotFound => return,
                    ApiErrorKind::Unreachable => watched.writing.failed(at),
                    ApiErrorKind::Refused if !watched.refuses_again() => {
                        return watched.writing.lost_race(at);
                    }
                    ApiErrorKind::Forbidden | ApiErrorKind::Refused => {
                        watched.writing.refused(at);
                        self.deny(position);
                    }
                }
                let Some(watched) = self.registrations.get(position) else { return };
                let is_insecure =
                    error.kind == ApiErrorKind::Refused && watched.name.kind == RegistrationKind::ApiService;
                let hint = if is_insecure { "; with insecureSkipTLSVerify it takes none" } else { "" };
                let what = if matches!(purpose, Purpose::Bundle { .. }) { "caBundle" } else { "entries" };
                let text = format!("the {what} of {} cannot be written: {}{hint}", watched.name, error.text);
                let reason = (error.kind != ApiErrorKind::Unreachable).then_some("RegistrationDenied");
                self.failed(About::Configuration(position), reason, text);
            }
        }
    }

    /// Records that a drain cancelled a patch, which may have been applied.
    pub(in crate::self_managed) fn patch_given_up(&mut self, position: usize) {
        if let Some(watched) = self.registrations.get_mut(position) {
            watched.outdated = true;
            watched.wrote_without_an_answer();
        }
    }

    /// Whether the stored object has the bundle that was just written. If an admission policy changed it, the next write waits,
    /// so that the two do not race.
    fn is_bundle_kept(&mut self, position: usize, at: Instant) -> bool {
        let Some(ring) = &self.stored else { return true };
        if let (Some(seen), mark) = (self.seen.configurations.get(position), ring.facts().mark())
            && seen.mark.is_none()
        {
            self.seen.configuration_written(position, mark);
            let text = "its annotations were written and are not there: an admission policy removes them; a bundle of an \
                        earlier ring is not noticed here";
            self.not_kept(position, text);
        }
        let (Some(facts), Some(watched)) =
            (self.ring.as_ref().and_then(RingFacts::facts), self.registrations.get(position))
        else {
            return true;
        };
        let has_entries = watched.snapshot.as_ref().is_some_and(|snapshot| !snapshot.entries.is_empty());
        let in_sync =
            !has_entries || position >= self.seen.configurations.len() || self.is_in_sync(position, facts);
        self.written(position, in_sync, at);
        if !in_sync {
            let text = "its caBundle was written and is not what is stored: an admission policy changes it";
            self.not_kept(position, text);
        }
        in_sync
    }

    /// Whether the stored object names this version as the owner of the entries that were just written. If not, the entries count
    /// as not written, and the next write waits.
    fn is_owner_kept(&mut self, position: usize, at: Instant) -> bool {
        let Some(watched) = self.registrations.get(position) else { return true };
        let owner = watched.snapshot.as_ref().and_then(|snapshot| snapshot.held.owner.as_ref());
        let ours = watched.desired.as_ref().map(|desired| &desired.hash);
        let is_kept = owner.map(|owner| &owner.hash) == ours;
        self.written(position, is_kept, at);
        if let (false, Some(watched)) = (is_kept, self.registrations.get_mut(position)) {
            // A replica of another version takes the entries for its own too, and a write of one ends the pause of the other.
            watched.repair_throttle.repaired(at);
            let text = "the annotation that says whose entries these are was written and is not there: an admission policy removes \
                        it, so the entries are written again and again";
            self.not_kept(position, text);
        }
        is_kept
    }

    /// Ends the pauses between writes, or lengthens them if what was written is not what is stored.
    fn written(&mut self, position: usize, is_kept: bool, at: Instant) {
        let Some(watched) = self.registrations.get_mut(position) else { return };
        if is_kept { watched.writing.clear() } else { watched.writing.refused(at) }
    }

    fn not_kept(&mut self, position: usize, what: &str) {
        let Some(watched) = self.registrations.get(position) else { return };
        let text = format!(
            "{}: {what} (kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations)",
            watched.name
        );
        self.failed(About::Configuration(position), Some("WriteNotKept"), text);
    }

    fn deny(&mut self, position: usize) {
        if let Some(seen) = self.seen.configurations.get_mut(position) {
            seen.denied = true;
        }
    }
}

fn parse(object: &[u8]) -> Result<DynamicObject, ApiError> {
    serde_json::from_slice(object).map_err(|_| ApiError::unreadable())
}
