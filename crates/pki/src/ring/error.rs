//! The errors of a stored ring. They name fields, never their bytes.

use crate::ring::CaId;
use crate::{AuthorityError, VerifyError};

/// Why a stored ring cannot be used, or a new one not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A field of the Secret is not what it must be. Delete the field's Secret or restore it; it is repaired otherwise.
    #[error("the ring's field `{field}` {problem}")]
    Field {
        /// A key of the Secret.
        field: String,
        /// The reason.
        problem: Problem,
    },
    /// A newer version wrote it.
    #[error("the ring has schema {schema}, which is newer than this version understands")]
    Newer {
        /// The number in `ring.json`.
        schema: u64,
    },
    /// The change was meant for another ring.
    #[error("the ring changed while a change to it was prepared")]
    Outdated,
    /// The certificate of a CA to be trusted is at hand nowhere.
    #[error("the certificate of CA {0} is missing")]
    Unknown(CaId),
    /// No CA can be made.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// A client would refuse the new certificate.
    #[error("the new ring would be refused: {0}")]
    Refused(#[from] VerifyError),
}

/// The reason why a field is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not there.
    #[error("is missing")]
    Missing,
    /// Larger than any ring.
    #[error("is too large")]
    TooLarge,
    /// Not JSON of this schema.
    #[error("cannot be read: it must be JSON of the ring's schema")]
    Json,
    /// Not exactly one CA signs and one is next, or a CA is listed twice, or its cross-signing CA is missing.
    #[error("does not list one active CA, one next CA and each CA once")]
    States,
    /// Not one certificate in PEM.
    #[error("cannot be read: it must be one certificate in PEM")]
    Certificate,
    /// Not the certificate that its name says.
    #[error("holds another certificate than its name says")]
    OtherCertificate,
    /// Not a CA.
    #[error("is no certificate of a CA")]
    NotAnAuthority,
    /// Begins to be valid later.
    #[error("is not valid yet")]
    NotYetValid,
    /// The active CA has ended: nothing that it signs is accepted.
    #[error("has expired")]
    Expired,
    /// Not one private key in PEM.
    #[error("cannot be read: it must be one private key in PEM")]
    Key,
    /// The key of another certificate.
    #[error("does not belong to its certificate")]
    OtherKey,
    /// The cross certificate does not lead from the CA to its predecessor.
    #[error("does not lead from its CA to the predecessor")]
    CrossSignature,
}

impl RingError {
    pub(super) fn field(field: impl Into<String>, problem: Problem) -> Self {
        Self::Field { field: field.into(), problem }
    }
}
