//! What an identity tells when it happens.

use std::time::SystemTime;

use crate::RegistrationName;

/// Told of what an identity does; for metrics. Called from the identity's own task, and must not wait.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn happened(&self, event: &IdentityEvent);
}

/// Something that an identity did or met with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityEvent {
    /// A new leaf is presented from now on.
    LeafRenewed {
        /// Its end.
        not_after: SystemTime,
    },
    /// This replica wrote the ring.
    RingWritten {
        /// `created`, `restored`, `grafted`, `held`, `promoted`, `removed`, `revoked`, or `repaired`
        /// when the ring was whole and something beside it was not.
        change: &'static str,
    },
    /// This replica wrote a `caBundle`.
    BundleWritten {
        /// Where.
        registration: RegistrationName,
        /// Who had changed it, by `managedFields`, when this was a repair and not news of ours.
        repaired_from: Option<String>,
    },
    /// This replica wrote the entries that its version desires.
    EntriesWritten {
        /// Where.
        registration: RegistrationName,
        /// Who had taken some of them away, by `managedFields`, when this was a repair and not news of ours.
        repaired_from: Option<String>,
    },
    /// The ring did not continue what was known: it was rolled back, replaced or deleted.
    Discontinuity,
    /// An object could not be written or read, and it will be tried again.
    Failed {
        /// Which object, in words.
        object: String,
        /// Why, in words; never content of the object.
        reason: String,
    },
}
