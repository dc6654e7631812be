//! What happened, counted as it happens.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Fact;

/// What happened so far: calls as they were answered, certificates as they were presented, writes as they were watched.
#[derive(Default)]
pub struct Ledger(Mutex<Book>);

/// All of it at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Book {
    /// Calls that were answered, well or not.
    pub calls: usize,
    /// Calls that failed, by what was said.
    pub failures: BTreeMap<String, usize>,
    /// The longest that a call took.
    pub worst: Duration,
    /// By the replica's number.
    pub replicas: BTreeMap<usize, Seen>,
    /// Handshakes that came to nothing, by what the replica was told.
    pub handshakes_failed: BTreeMap<String, usize>,
    /// What replicas wrote into the ring.
    pub ring_changes: BTreeMap<String, usize>,
    /// What replicas could not do.
    pub trouble: BTreeMap<String, usize>,
    /// Writes of the Secret, as watched; the first is its creation.
    pub secret_writes: usize,
    /// Writes of the configuration, as watched.
    pub configuration_writes: usize,
    /// Changes of the ring's active CA.
    pub promotions: usize,
    /// Rotations that are over: another CA signs, its predecessor is gone, and its successor is held.
    pub rotations: usize,
    /// How many certificates bundles had, and how often one of that size was written.
    pub bundle_sizes: BTreeMap<usize, usize>,
    /// Bundles that were empty after they were not.
    pub emptied: usize,
    /// Private keys of CAs that sign no longer, in any write of the Secret.
    pub retired_keys: usize,
    /// The most private keys that the Secret ever had.
    pub most_keys: usize,
}

/// What one replica presented.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Seen {
    /// How many leaves clients got from it.
    pub leaves: usize,
    /// How many of them came with a cross certificate.
    pub crossed: usize,
    /// The serial number of the last one.
    pub serial: String,
    /// The issuer of the last one.
    pub issuer: Option<String>,
    /// The end of the last one.
    pub not_after: u64,
    /// Leaves that followed one of the same CA.
    pub renewals: usize,
    /// Leaves that followed one of another CA.
    pub switches: usize,
}

impl Ledger {
    /// All that is known now.
    #[must_use]
    pub fn read(&self) -> Book {
        self.book().clone()
    }

    /// A call was answered; `failure` says how it failed.
    pub(crate) fn called(&self, took: Duration, failure: Option<String>) {
        let mut book = self.book();
        book.calls += 1;
        book.worst = book.worst.max(took);
        if let Some(failure) = failure {
            *book.failures.entry(failure).or_default() += 1;
        }
    }

    pub(crate) fn replica_told(&self, number: usize, fact: Fact) {
        let mut book = self.book();
        match fact {
            Fact::Presented { serial, issuer, not_after, crossed } => {
                let seen = book.replicas.entry(number).or_default();
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
            Fact::HandshakeFailed { reason } => *book.handshakes_failed.entry(reason).or_default() += 1,
            Fact::RingWritten { change } => *book.ring_changes.entry(change).or_default() += 1,
            Fact::Discontinuity => *book.trouble.entry("a discontinuity".to_owned()).or_default() += 1,
            Fact::Trouble { what } => *book.trouble.entry(what).or_default() += 1,
            // The watch counts writes, whoever made them.
            Fact::BundleWritten { .. } | Fact::Listening { .. } => {}
        }
    }

    pub(crate) fn note(&self, write: impl FnOnce(&mut Book)) {
        write(&mut self.book());
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Calls that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failures.values().sum()
    }

    /// Leaves that followed one of the same CA.
    #[must_use]
    pub fn renewals(&self) -> usize {
        self.replicas.values().map(|seen| seen.renewals).sum()
    }

    /// Leaves that followed one of another CA.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.replicas.values().map(|seen| seen.switches).sum()
    }

    /// Handshakes that came to nothing.
    #[must_use]
    pub fn failed_handshakes(&self) -> usize {
        self.handshakes_failed.values().sum()
    }

    /// Handshakes in which the client did not like what it got: all that it says about that is an alert.
    #[must_use]
    pub fn alerts(&self) -> usize {
        let alerts = self.handshakes_failed.iter().filter(|(reason, _)| reason.contains("alert"));
        alerts.map(|(_, count)| count).sum()
    }

    /// Leaves that came with a cross certificate.
    #[must_use]
    pub fn crossed(&self) -> usize {
        self.replicas.values().map(|seen| seen.crossed).sum()
    }
}
