//! The reports of an identity to an observer, for metrics. They are not Kubernetes Events.

use std::time::SystemTime;

use crate::RegistrationName;

/// Receives the events of an identity. It is called from the identity's own task and must not block.
pub trait Observer: Send + Sync {
    /// Called once for each event.
    fn happened(&self, event: &IdentityEvent);
}

/// An operation of an identity, or a failure.
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
        /// The configuration.
        registration: RegistrationName,
        /// For a repair: the field manager that had changed it, from `managedFields`.
        repaired_from: Option<String>,
    },
    /// This replica wrote the entries that its version desires.
    EntriesWritten {
        /// The configuration.
        registration: RegistrationName,
        /// For a repair: the field manager that had removed entries, from `managedFields`.
        repaired_from: Option<String>,
    },
    /// The ring did not continue what was known: it was rolled back, replaced or deleted.
    Discontinuity,
    /// An object could not be written or read, and it will be tried again.
    Failed {
        /// The name of the object.
        object: String,
        /// The reason; never content of the object.
        reason: String,
    },
}
