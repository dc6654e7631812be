//! The report of an inspection, without keys and certificates.

use std::time::SystemTime;

use crate::{NamespacedName, RegistrationName, Role};

/// A ring and its bundles, as they are on the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectReport {
    /// The Secret that was read.
    pub secret: NamespacedName,
    /// Its content.
    pub ring: RingState,
    /// The ring's `caBundle`, in PEM; empty without a ring.
    pub bundle: String,
    /// Each configuration.
    pub registrations: Vec<RegistrationReport>,
    /// Objects that could not be read, with the missing right.
    pub notes: Vec<String>,
}

/// The content of the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingState {
    /// There is no Secret, or an empty one.
    Absent,
    /// It cannot be used: which field is wrong, and how.
    Unreadable(String),
    /// A newer version wrote it; the report has the parts that this version can read.
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
    /// Whether a requested rotation is not done yet.
    pub rotation_asked: bool,
    /// Whether a requested revocation is not done yet.
    pub revocation_asked: bool,
    /// Every CA.
    pub authorities: Vec<AuthorityReport>,
}

/// One CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityReport {
    /// The first eight bytes of its SHA-256, in hexadecimal digits.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// Its name.
    pub subject: String,
    /// The end of its validity.
    pub not_after: SystemTime,
    /// Since when every API server knows it.
    pub held_since: Option<SystemTime>,
    /// When a retired or foreign CA may be removed.
    pub trusted_until: Option<SystemTime>,
    /// The predecessor that cross-signed it.
    pub crossed_by: Option<String>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationReport {
    /// Its name.
    pub registration: RegistrationName,
    /// The entries with a `caBundle`.
    pub entries: Vec<EntryReport>,
    /// The generation that its annotation names.
    pub generation: Option<u64>,
    /// The field manager that last wrote a `caBundle`.
    pub written_by: Option<String>,
    /// The differences from the ring; empty when in sync.
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
