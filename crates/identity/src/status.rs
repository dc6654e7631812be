//! The state of an identity.

use std::time::{Duration, SystemTime};

use vestibule_pki::ring::Role;

use crate::RegistrationName;

/// The state of an identity at one moment, for readiness, metrics and messages, without keys and certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The condition that readiness waits for, in words. [`None`] when ready; after that only the lack of a valid leaf makes
    /// the server unready (rule E1).
    pub waiting_for: Option<String>,
    /// The end of the leaf that is presented.
    pub leaf_not_after: Option<SystemTime>,
    /// Every CA of the bundle.
    pub authorities: Vec<AuthorityStatus>,
    /// The ring's generation, where there is a ring.
    pub generation: Option<u64>,
    /// How long ago the ring was last read, or found missing.
    pub ring_read_ago: Option<Duration>,
    /// Every registered configuration.
    pub registrations: Vec<RegistrationStatus>,
    /// Seconds that the API server's clock is ahead of ours.
    pub clock_skew: i64,
    /// The reason why a due operation does not happen: `hold`, `clock`, `denied`, `newer_schema` or `ring_write`.
    pub blocked: Option<&'static str>,
}

/// One CA of the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityStatus {
    /// Its role.
    pub role: Role,
    /// The end of its validity.
    pub not_after: SystemTime,
}

/// One registered configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationStatus {
    /// Its name.
    pub registration: RegistrationName,
    /// Whether it was last seen with the ring's bundle.
    pub in_sync: bool,
}
