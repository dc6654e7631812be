//! What was found, as plain values. No keys, no certificates.

use std::time::SystemTime;

use crate::{NamespacedName, RegistrationName, Role};

/// A ring and its bundles, as they are on the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectReport {
    /// The Secret that was read.
    pub secret: NamespacedName,
    /// What is in it.
    pub ring: RingState,
    /// The ring's `caBundle`, in PEM; empty without a ring.
    pub bundle: String,
    /// Each configuration.
    pub registrations: Vec<RegistrationReport>,
    /// What could not be looked at, and which right is missing.
    pub notes: Vec<String>,
}

/// What the Secret holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingState {
    /// There is no Secret, or an empty one.
    Absent,
    /// It cannot be used: which field is wrong, and how.
    Unreadable(String),
    /// A newer version wrote it; what is understood of it.
    Newer(Option<RingReport>),
    /// A ring.
    Known(RingReport),
}

/// A ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingReport {
    /// Its family, in hexadecimal digits.
    pub lineage: String,
    /// Grows with every change.
    pub generation: u64,
    /// When the next rotation is planned.
    pub due: SystemTime,
    /// Somebody asked for a rotation that did not come yet.
    pub rotation_asked: bool,
    /// Somebody asked for a revocation that did not come yet.
    pub revocation_asked: bool,
    /// Every CA.
    pub authorities: Vec<AuthorityReport>,
}

/// One CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityReport {
    /// The first eight bytes of its SHA-256, in hexadecimal digits.
    pub id: String,
    /// What it is there for.
    pub role: Role,
    /// Its name.
    pub subject: String,
    /// The end of its validity.
    pub not_after: SystemTime,
    /// Since when every API server is taken to know it.
    pub held_since: Option<SystemTime>,
    /// When a retired or foreign one may go.
    pub trusted_until: Option<SystemTime>,
    /// The predecessor that cross-signed it.
    pub crossed_by: Option<String>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationReport {
    /// Which.
    pub registration: RegistrationName,
    /// Whose `caBundle` was looked at.
    pub entries: Vec<EntryReport>,
    /// The generation that its annotation names.
    pub generation: Option<u64>,
    /// Who last wrote a `caBundle`, by `managedFields`.
    pub written_by: Option<String>,
    /// What is not as the ring would have it; empty when in sync.
    pub differences: Vec<String>,
}

/// One `caBundle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryReport {
    /// The hook's name, or where in the object it is.
    pub name: String,
    /// The Service (`NS/NAME`) or URL that is called.
    pub target: String,
    /// The CAs of the bundle, by id.
    pub authorities: Vec<String>,
}

impl InspectReport {
    /// Whether there is a ring and every configuration holds its bundle.
    #[must_use]
    pub fn is_in_sync(&self) -> bool {
        let differs = |registration: &RegistrationReport| !registration.differences.is_empty();
        self.ring.report().is_some() && !self.registrations.iter().any(differs)
    }
}

impl RingState {
    /// The ring, as far as it is understood.
    #[must_use]
    pub fn report(&self) -> Option<&RingReport> {
        match self {
            Self::Known(ring) | Self::Newer(Some(ring)) => Some(ring),
            Self::Absent | Self::Unreadable(_) | Self::Newer(None) => None,
        }
    }
}
