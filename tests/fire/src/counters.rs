//! Counters of a soak: calls, presented certificates and watched writes.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ReplicaEvent;

/// Counters that the load, the replicas' readers and the watches update concurrently.
#[derive(Default)]
pub struct Counters(Mutex<Counts>);

/// The counters at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that ended, with success or not.
    pub calls: usize,
    /// Failed calls by error message.
    pub failures: BTreeMap<String, usize>,
    /// The longest duration of a call.
    pub worst: Duration,
    /// Presented certificates by the replica's number.
    pub replicas: BTreeMap<usize, ReplicaCounts>,
    /// Failed handshakes by the error that the replica saw.
    pub handshakes_failed: BTreeMap<String, usize>,
    /// Changes that replicas wrote to the ring, by kind.
    pub ring_changes: BTreeMap<String, usize>,
    /// Failed reads and writes of replicas.
    pub trouble: BTreeMap<String, usize>,
    /// Observed writes of the Secret, including its creation.
    pub secret_writes: usize,
    /// Observed writes of the configuration.
    pub configuration_writes: usize,
    /// Changes of the ring's active CA.
    pub promotions: usize,
    /// Complete rotations: another CA signs, its predecessor is removed, and its successor is trusted everywhere.
    pub rotations: usize,
    /// Writes of a caBundle by its number of certificates.
    pub bundle_sizes: BTreeMap<usize, usize>,
    /// Writes that emptied a caBundle.
    pub emptied: usize,
    /// Private keys of retired CAs, summed over all writes of the Secret.
    pub retired_keys: usize,
    /// The highest number of private keys in the Secret.
    pub most_keys: usize,
}

/// The certificates that one replica presented.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReplicaCounts {
    /// The number of leaves.
    pub leaves: usize,
    /// The number of leaves with a cross-signed certificate.
    pub crossed: usize,
    /// The serial number of the last leaf.
    pub serial: String,
    /// The issuer of the last leaf.
    pub issuer: Option<String>,
    /// The end of validity of the last leaf.
    pub not_after: u64,
    /// Leaves with the same issuer as the leaf before.
    pub renewals: usize,
    /// Leaves with another issuer than the leaf before.
    pub switches: usize,
}

impl Counters {
    /// A copy of the counters.
    #[must_use]
    pub fn read(&self) -> Counts {
        self.lock().clone()
    }

    /// Counts a call; `failure` is its error, if it failed.
    pub(crate) fn record_call(&self, took: Duration, failure: Option<String>) {
        let mut counts = self.lock();
        counts.calls += 1;
        counts.worst = counts.worst.max(took);
        if let Some(failure) = failure {
            *counts.failures.entry(failure).or_default() += 1;
        }
    }

    pub(crate) fn record_event(&self, number: usize, event: ReplicaEvent) {
        let mut counts = self.lock();
        match event {
            ReplicaEvent::Presented { serial, issuer, not_after, crossed } => {
                let seen = counts.replicas.entry(number).or_default();
                if seen.serial == serial {
                    return;
                }
                match &seen.issuer {
                    None => {}
                    Some(before) if *before == issuer => seen.renewals += 1,
                    Some(_) => seen.switches += 1,
                }
                seen.leaves += 1;
                seen.crossed += usize::from(crossed);
                (seen.serial, seen.issuer, seen.not_after) = (serial, Some(issuer), not_after);
            }
            ReplicaEvent::HandshakeFailed { reason } => {
                *counts.handshakes_failed.entry(reason).or_default() += 1;
            }
            ReplicaEvent::RingWritten { change } => *counts.ring_changes.entry(change).or_default() += 1,
            ReplicaEvent::Discontinuity => {
                *counts.trouble.entry("a discontinuity".to_owned()).or_default() += 1;
            }
            ReplicaEvent::Trouble { what } => *counts.trouble.entry(what).or_default() += 1,
            // The watch counts writes of all replicas.
            ReplicaEvent::BundleWritten { .. } | ReplicaEvent::Listening { .. } => {}
        }
    }

    pub(crate) fn update(&self, write: impl FnOnce(&mut Counts)) {
        write(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Calls that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failures.values().sum()
    }

    /// Leaves with the same issuer as the leaf before, of all replicas.
    #[must_use]
    pub fn renewals(&self) -> usize {
        self.replicas.values().map(|seen| seen.renewals).sum()
    }

    /// Leaves with another issuer than the leaf before, of all replicas.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.replicas.values().map(|seen| seen.switches).sum()
    }

    /// Failed handshakes.
    #[must_use]
    pub fn failed_handshakes(&self) -> usize {
        self.handshakes_failed.values().sum()
    }

    /// Handshakes that the client ended with a TLS alert, which is how it refuses a certificate.
    #[must_use]
    pub fn alerts(&self) -> usize {
        let alerts = self.handshakes_failed.iter().filter(|(reason, _)| reason.contains("alert"));
        alerts.map(|(_, count)| count).sum()
    }

    /// Leaves with a cross-signed certificate, of all replicas.
    #[must_use]
    pub fn crossed(&self) -> usize {
        self.replicas.values().map(|seen| seen.crossed).sum()
    }
}
