//! The status for readiness and metrics.

use vestibule_pki::ring::{Action, Blocked, Facts, Moment, RingFacts, step};

use super::{State, readiness_margin};
use crate::self_managed::watched::Watched;
use crate::time::system_time;
use crate::{AuthorityStatus, RegistrationStatus, Status};

impl State {
    pub(in crate::self_managed) fn status(&self, now: Moment) -> Status {
        let facts = self.ring.as_ref().and_then(RingFacts::facts).or(self.seen.memory.as_ref());
        let authorities = facts.map(authorities).unwrap_or_default();
        let registrations = self.registered_ones().map(|(position, watched)| RegistrationStatus {
            registration: watched.name.clone(),
            in_sync: facts.is_some_and(|facts| self.is_in_sync(position, facts)),
        });
        Status {
            waiting_for: self.waiting_for(now),
            leaf_not_after: self.seen.leaf.as_ref().map(|leaf| system_time(leaf.not_after.0)),
            authorities,
            generation: facts.map(|facts| facts.generation),
            ring_read_ago: self.seen.confirmed.map(|confirmed| self.corrected(now).since(confirmed)),
            registrations: registrations.collect(),
            clock_skew: self.seen.offset,
            blocked: self.blocked(now),
        }
    }

    /// After the first leaf only the lack of a valid one makes the replica unready (rule E1), `readiness_margin` before its end.
    pub(in crate::self_managed) fn waiting_for(&self, now: Moment) -> Option<String> {
        let now = self.corrected(now);
        if let Some(leaf) = &self.seen.leaf {
            if leaf.not_before > now {
                return Some(
                    "the certificate to become valid: the API server's clock was set back".to_owned(),
                );
            }
            let lasts = leaf.not_after >= now.plus(readiness_margin(&self.settings.policy));
            let read = self.seen.confirmed.map_or(0, |confirmed| now.since(confirmed).as_secs());
            let text = || {
                format!(
                    "the certificate to be renewed (Secret {} was last read {read} s ago)",
                    self.secret_name
                )
            };
            return (!lasts).then(text);
        }
        let Some(facts) = self.ring.as_ref().and_then(RingFacts::facts) else {
            return Some(format!("the ring Secret {}", self.secret_name));
        };
        if self.stored.as_ref().is_some_and(|ring| !self.names.iter().any(|name| ring.permits(name))) {
            return Some(format!("other CAs: {}", self.permits_no_name()));
        }
        for (position, watched) in self.registered_ones() {
            if watched.snapshot.is_none() {
                let seen = self.seen.configurations.get(position);
                let name = &watched.name;
                if seen.is_some_and(|seen| seen.denied) {
                    return Some(format!("the right to read {name}"));
                }
                let quiet = self.settings.policy.hold_cold;
                let is_gone = |since: Moment| now.since(since) >= quiet;
                let has_past = facts.generation > 1 || facts.active().is_some_and(|ca| ca.held.is_some());
                if has_past && seen.and_then(|seen| seen.absent).is_some_and(is_gone) {
                    continue;
                }
                return Some(format!("{name} to appear"));
            }
            if watched.repair_throttle.is_slowed() {
                return Some(self.overwritten(watched));
            }
            if !self.is_in_sync(position, facts) {
                return Some(format!("{} to hold the bundle", watched.name));
            }
        }
        let since = facts.active().and_then(|active| match active.held {
            Some(_) => Some(Moment(0)),
            None => self.seen.everywhere_since(active.id),
        });
        let changes = self.seen.configurations.iter().map(|configuration| configuration.changed);
        let quiet = changes.chain([since]).map(|since| since.unwrap_or(now)).max().unwrap_or(now);
        let remaining = self.settings.policy.hold_cold.saturating_sub(now.since(quiet));
        Some(format!("API servers to learn of the CA ({} s)", remaining.as_secs()))
    }

    /// The text for a first leaf that waits because another program removes the bundle faster than the CA can be held.
    fn overwritten(&self, watched: &Watched) -> String {
        let manager = watched.snapshot.as_ref().and_then(|snapshot| snapshot.other_manager.as_deref());
        format!(
            "{} to keep the bundle for {} s: {} overwrites it again and again; stop it from writing caBundle",
            watched.name,
            self.settings.policy.hold_cold.as_secs(),
            manager.unwrap_or("another program")
        )
    }

    /// The registrations, without the objects from which entries are only removed.
    fn registered_ones(&self) -> impl Iterator<Item = (usize, &Watched)> {
        self.registrations.iter().enumerate().take(self.seen.configurations.len())
    }

    pub(super) fn is_in_sync(&self, position: usize, facts: &Facts) -> bool {
        let seen = self.seen.configurations.get(position);
        seen.is_some_and(|seen| seen.changed.is_some() && !seen.differs(facts))
    }

    fn blocked(&self, now: Moment) -> Option<&'static str> {
        let actions = step(self.ring.as_ref()?, &self.seen, now, &self.settings.policy);
        let writes = actions.iter().any(|action| matches!(action, Action::WriteRing(_)));
        if writes && self.writing.is_failing {
            return Some("ring_write");
        }
        actions.iter().find_map(|action| match action {
            Action::Report(Blocked::Clock) => Some("clock"),
            Action::Report(Blocked::Hold(_)) => Some("hold"),
            Action::Report(Blocked::NewerSchema) => Some("newer_schema"),
            Action::Report(Blocked::Denied(_)) => Some("denied"),
            _ => None,
        })
    }
}

fn authorities(facts: &Facts) -> Vec<AuthorityStatus> {
    let authorities = facts
        .authorities
        .iter()
        .map(|ca| AuthorityStatus { role: ca.state.role().0, not_after: system_time(ca.not_after.0) });
    authorities.collect()
}
