//! The state of a replica, and its decisions. No I/O and no clock: the caller passes both times in.
//!
//! `watch_events`, `ring` and `configurations` take in what the API server says; `writes`, `leaf` and `entries` prepare the next
//! operation, which [`State::decide`] chooses.

mod clock;
mod configurations;
mod entries;
mod leaf;
mod notices;
mod ring;
mod status;
mod watch_events;
mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls_pki_types::CertificateDer;
use serde_json::Value;
use vestibule_pki::Leaf;
use vestibule_pki::ring::{
    Action, BundleMark, CaId, Change, Moment, Observations, Policy, Ring, RingFacts, step,
};
use zeroize::Zeroizing;

use super::api_client::Purpose;
use super::backoff::{Backoff, RepairThrottle, random_below};
use super::notices::{About, Notice};
use super::registration::EntryMatcher;
use super::ring_secret::RingSecret;
use super::watched::Watched;
use crate::{NamespacedName, RegistrationName, Settings};

/// The state of a replica. No `Debug`: it holds keys.
pub(super) struct State {
    settings: Settings,
    names: Vec<String>,
    ours: EntryMatcher,
    /// The configurations of [`Observations::configurations`] in their order, then the ones from which entries of an earlier
    /// version are removed.
    pub(super) registrations: Vec<Watched>,
    secret_name: NamespacedName,
    secret: RingSecret,
    /// [`None`] before the first read.
    ring: Option<RingFacts>,
    /// The stored ring, if it can be used.
    stored: Option<Arc<Ring>>,
    /// The ring of [`Observations::memory`].
    remembered: Option<Arc<Ring>>,
    pub(super) ca_bundle: Option<Arc<str>>,
    /// The last bundles, without keys: for grafts, and for configurations that have a mark and no entries.
    past: Vec<(BundleMark, BTreeMap<CaId, CertificateDer<'static>>)>,
    /// The certificate of the CA that signed the leaf.
    issuer: Option<CertificateDer<'static>>,
    seen: Observations,
    /// Whether a watch reported a newer version than the one that was read.
    is_stale: bool,
    /// Whether the Secret's `ca.crt` differs from the ring's bundle.
    ca_crt_differs: bool,
    reading: Backoff,
    writing: Backoff,
    repair_throttle: RepairThrottle,
    /// A planned change, and the random time at which it is made.
    planned: Option<(Change, Instant)>,
    /// When the ring was last read, by the monotonic clock.
    read: Option<Instant>,
    signing: Backoff,
    /// When a handshake may try to renew an overdue leaf again.
    handshake: Option<Instant>,
    /// Since when this replica answers calls.
    serving: Option<Instant>,
    /// Whether the drain has begun.
    is_draining: bool,
    pub(super) notices: Vec<Notice>,
}

/// The next operation of the main task.
pub(super) enum Operation {
    ReadRing,
    WriteRing(Box<RingWrite>),
    ReadConfiguration(usize),
    Publish { position: usize, patch: Value, purpose: Purpose },
    Present(Arc<Leaf>),
}

/// A changed ring that is not written yet.
pub(super) struct RingWrite {
    /// [`None`] if the same ring is written again.
    change: Option<Change>,
    ring: Ring,
    pub(super) object: Zeroizing<Vec<u8>>,
    pub(super) creates: bool,
}

impl State {
    pub(super) fn new(settings: Settings, secret_name: NamespacedName) -> Self {
        let desired =
            |name: &_| settings.desired.iter().find(|desired| desired.registration() == name).cloned();
        let watched = |name: RegistrationName| Watched::new(desired(&name), name);
        let registrations: Vec<_> = settings.watched().map(watched).collect();
        Self {
            names: settings.all_names(),
            ours: EntryMatcher::new(&settings),
            seen: Observations::new(settings.registrations.len()),
            registrations,
            secret: RingSecret::absent(&secret_name, &settings.manager),
            secret_name,
            settings,
            ring: None,
            stored: None,
            remembered: None,
            ca_bundle: None,
            past: Vec::new(),
            issuer: None,
            is_stale: false,
            ca_crt_differs: false,
            reading: Backoff::default(),
            writing: Backoff::default(),
            repair_throttle: RepairThrottle::default(),
            planned: None,
            read: None,
            signing: Backoff::default(),
            handshake: None,
            serving: None,
            is_draining: false,
            notices: Vec::new(),
        }
    }

    /// The first operation that can be performed now; [`None`] while the replica waits for an event or for time to pass.
    pub(super) fn decide(&mut self, now: Moment, at: Instant) -> Option<Operation> {
        if self.must_read(now, at) && self.reading.allows(at) {
            return Some(Operation::ReadRing);
        }
        let period = self.reading_period();
        if let Some(position) =
            self.registrations.iter_mut().position(|watched| watched.must_read(period, at))
        {
            return Some(Operation::ReadConfiguration(position));
        }
        for (seen, watched) in self.seen.configurations.iter_mut().zip(&self.registrations) {
            seen.denied &= !(watched.writing.allows(at) && watched.reading.allows(at));
        }
        let mut actions = step(self.ring.as_ref()?, &self.seen, now, &self.settings.policy);
        // Rule W2 reads the ring before a bundle is written, and rule S2 reads the configurations after the ring before a first
        // leaf is signed. While a bundle cannot be written, the two would alternate for ever, so the leaf comes first.
        if self.is_draining || !self.registrations.iter().all(|watched| watched.may_write(at)) {
            actions.sort_by_key(|action| !matches!(action, Action::SignLeaf(_)));
        }
        let operation = actions.into_iter().find_map(|action| self.attempt(action, now, at));
        operation.or_else(|| self.repair_secret(now, at)).or_else(|| self.register(now, at))
    }

    /// After a panic everything is read again.
    pub(super) fn reread_all(&mut self) {
        self.is_stale = true;
        self.registrations.iter_mut().for_each(|watched| watched.outdated = true);
        let text = "a panic interrupted the certificate loop: the ring and all webhook configurations are read again";
        self.failed(About::Ring, None, text.to_owned());
    }

    fn attempt(&mut self, action: Action, now: Moment, at: Instant) -> Option<Operation> {
        match action {
            Action::ReadRing => self.reading.allows(at).then_some(Operation::ReadRing),
            Action::ReadConfiguration(position) => {
                let watched = self.registrations.get(position)?;
                watched.reading.allows(at).then_some(Operation::ReadConfiguration(position))
            }
            Action::WriteRing(change) => {
                let is_repair = matches!(change, Change::Restore { .. });
                let may_write = self.writing.allows(at) && (!is_repair || self.repair_throttle.allows(at));
                let ready = may_write && self.is_time_for(&change, at);
                if ready { self.prepare_ring(change, now, at) } else { None }
            }
            Action::PublishBundle(position) => {
                let ready = !self.is_draining && self.registrations.get(position)?.may_write(at);
                if ready { self.prepare_bundle(position, at) } else { None }
            }
            Action::SignLeaf(leaf) => self.sign(&leaf, now, at).map(Operation::Present),
            Action::DropLeaf => None,
            Action::Report(blocked) => {
                self.report(blocked);
                None
            }
        }
    }

    /// Whether the ring must be read: a watch reported a change, or a tenth of rule S3's lease has passed.
    fn must_read(&self, now: Moment, at: Instant) -> bool {
        let (period, now) = (self.reading_period(), self.corrected(now));
        self.ring.is_none()
            || self.is_stale
            || self.seen.confirmed.is_none_or(|confirmed| now.since(confirmed) >= period)
            // By the monotonic clock too, for a wall clock that was set back.
            || self.read.is_none_or(|read| at.saturating_duration_since(read) >= period)
    }

    /// How often ring and configurations are read though no watch reports a change.
    fn reading_period(&self) -> Duration {
        const SELDOM: Duration = Duration::from_secs(10 * 60);
        (self.settings.policy.leaf_life / 10).clamp(Duration::from_secs(1), SELDOM)
    }

    /// Whether a change may be made now. A planned change waits for a random time, so that one replica makes it.
    fn is_time_for(&mut self, change: &Change, at: Instant) -> bool {
        if !change.is_planned() {
            return true;
        }
        match &self.planned {
            Some((planned, when)) if planned == change => *when <= at,
            _ => {
                self.planned = Some((change.clone(), at + random_below(jitter(&self.settings.policy))));
                false
            }
        }
    }

    /// The time until the next decision may differ without an event.
    pub(super) fn pause(&self, at: Instant) -> Duration {
        let own = [&self.reading, &self.writing].into_iter();
        let theirs = self.registrations.iter().flat_map(|watched| [&watched.reading, &watched.writing]);
        let ends = own.chain(theirs).filter_map(|backoff| backoff.until);
        let ends = ends.chain(self.planned.iter().map(|(_, when)| *when));
        let ahead = ends.filter(|end| *end > at).map(|end| end - at);
        ahead.chain([Duration::from_secs(1)]).min().unwrap_or_default().max(Duration::from_millis(1))
    }

    fn corrected(&self, now: Moment) -> Moment {
        self.seen.corrected(now, &self.settings.policy)
    }
}

/// The remaining life below which a replica is unready, because load balancers notice unreadiness late.
fn readiness_margin(policy: &Policy) -> Duration {
    Duration::from_secs(10).min(policy.leaf_life / 10)
}

/// The longest random delay of a planned change: 5 s, or less with short spans.
fn jitter(policy: &Policy) -> Duration {
    Duration::from_secs(5).min(policy.hold_cold / 12).min(policy.leaf_life / 10)
}

#[cfg(test)]
mod tests;
