//! All that a replica knows, and what it does next. No I/O, no clock: both times come in.

mod answers;
mod clock;
mod configurations;
mod entries;
mod leaf;
mod notices;
mod prepare;
mod status;
mod watch_events;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls_pki_types::CertificateDer;
use serde_json::Value;
use vestibule_pki::Leaf;
use vestibule_pki::ring::{Action, CaId, Change, Mark, Moment, Observations, Policy, Ring, RingFacts, step};
use zeroize::Zeroizing;

use super::api_client::Purpose;
use super::backoff::{Backoff, RepairThrottle, random_below};
use super::notices::Notice;
use super::registration::EntryMatcher;
use super::ring_secret::RingSecret;
use super::watched::Watched;
use crate::{NamespacedName, RegistrationName, Settings};

/// Everything that the protocol knows here. No `Debug`: it holds keys.
pub(super) struct State {
    settings: Settings,
    names: Vec<String>,
    ours: EntryMatcher,
    /// Those of [`Observations::configurations`], and behind them some that only lose what an earlier version wrote.
    pub(super) registrations: Vec<Watched>,
    secret_name: NamespacedName,
    secret: RingSecret,
    /// [`None`] before it was first read.
    ring: Option<RingFacts>,
    /// The ring as stored, when it can be used.
    stored: Option<Arc<Ring>>,
    /// The ring of [`Observations::memory`].
    remembered: Option<Arc<Ring>>,
    ca_bundle: Option<Arc<str>>,
    /// Bundles of late, without keys: for grafts, and for configurations that show a mark alone.
    past: Vec<(Mark, BTreeMap<CaId, CertificateDer<'static>>)>,
    /// The certificate of the CA that signed the leaf.
    issuer: Option<CertificateDer<'static>>,
    seen: Observations,
    /// A watch told of another version than ours.
    is_stale: bool,
    /// The Secret's `ca.crt` is not the ring's bundle.
    ca_crt_differs: bool,
    reading: Backoff,
    writing: Backoff,
    repair_throttle: RepairThrottle,
    /// A change that waits for its random moment.
    planned: Option<(Change, Instant)>,
    /// When the ring was last read, by a clock that nobody sets.
    read: Option<Instant>,
    signing: Backoff,
    /// When a handshake may try to renew an overdue leaf again.
    handshake: Option<Instant>,
    /// Since when calls are answered here.
    serving: Option<Instant>,
    /// Soon no call will be answered here any more.
    is_draining: bool,
    pub(super) notices: Vec<Notice>,
}

/// What is to be done now.
pub(super) enum Operation {
    ReadRing,
    WriteRing(Box<RingWrite>),
    ReadConfiguration(usize),
    Publish { position: usize, patch: Value, purpose: Purpose },
    Present(Arc<Leaf>),
}

/// A change of the ring, carried out and not yet written.
pub(super) struct RingWrite {
    /// [`None`] if the Secret is to hold the same ring again.
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
            secret: RingSecret::absent(&secret_name),
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

    /// The first thing that can be done now; [`None`] if nothing can before something happens or time passes.
    pub(super) fn decide(&mut self, now: Moment, at: Instant) -> Option<Operation> {
        if self.must_read(now, at) && self.reading.allows(at) {
            return Some(Operation::ReadRing);
        }
        let outdated = |watched: &Watched| watched.outdated && watched.reading.allows(at);
        if let Some(position) = self.registrations.iter().position(outdated) {
            return Some(Operation::ReadConfiguration(position));
        }
        for (seen, watched) in self.seen.configurations.iter_mut().zip(&self.registrations) {
            seen.denied &= !(watched.writing.allows(at) && watched.reading.allows(at));
        }
        let mut actions = step(self.ring.as_ref()?, &self.seen, now, &self.settings.policy);
        // Before a bundle is written the ring is read (rule W2), and before a first leaf is signed the configurations are
        // read after the ring (S2). Where a bundle cannot be written for a while, the two would undo each other for ever.
        if self.is_draining || !self.registrations.iter().all(|watched| watched.may_write(at)) {
            actions.sort_by_key(|action| !matches!(action, Action::SignLeaf(_)));
        }
        let operation = actions.into_iter().find_map(|action| self.attempt(action, now, at));
        operation.or_else(|| self.mend_secret(now, at)).or_else(|| self.register(now, at))
    }

    /// After a fault of ours nothing is believed that can be read again.
    pub(super) fn doubt(&mut self) {
        self.is_stale = true;
        self.registrations.iter_mut().for_each(|watched| watched.outdated = true);
        let text = "an error in this program interrupted the care for certificates: all is read again";
        self.failed(None, text.to_owned());
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

    /// Rule S3's lease is renewed well before its end; and what a watch told of is read.
    fn must_read(&self, now: Moment, at: Instant) -> bool {
        const SELDOM: Duration = Duration::from_secs(10 * 60);
        let period = (self.settings.policy.leaf_life / 10).clamp(Duration::from_secs(1), SELDOM);
        let now = self.corrected(now);
        self.ring.is_none()
            || self.is_stale
            || self.seen.confirmed.is_none_or(|confirmed| now.since(confirmed) >= period)
            // Where the clock was set back.
            || self.read.is_none_or(|read| at.saturating_duration_since(read) >= period)
    }

    /// What is planned waits a random moment, so that not every replica tries.
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

    /// How long nothing can change by time alone.
    pub(super) fn pause(&self, at: Instant) -> Duration {
        let own = [&self.reading, &self.writing].into_iter();
        let theirs = self.registrations.iter().flat_map(|watched| [&watched.reading, &watched.writing]);
        let ends = own.chain(theirs).filter_map(Backoff::end);
        let ends = ends.chain(self.planned.iter().map(|(_, when)| *when));
        let ahead = ends.filter(|end| *end > at).map(|end| end - at);
        ahead.chain([Duration::from_secs(1)]).min().unwrap_or_default().max(Duration::from_millis(1))
    }

    fn corrected(&self, now: Moment) -> Moment {
        self.seen.corrected(now, &self.settings.policy)
    }
}

/// How much life a leaf must have left for a replica to count as ready: a balancer takes its time to notice.
fn readiness_margin(policy: &Policy) -> Duration {
    Duration::from_secs(10).min(policy.leaf_life / 10)
}

/// Up to 5 s, and little beside the spans that the policy keeps.
fn jitter(policy: &Policy) -> Duration {
    Duration::from_secs(5).min(policy.hold_cold / 12).min(policy.leaf_life / 10)
}

#[cfg(test)]
mod tests;
