//! How a handler says no, and how it fails.

use std::borrow::Cow;
use std::error::Error;

use vestibule_admission::{Denial, Fault, FaultKind, Outcome, Verdict};

/// Why a handler gives no object back: a denial, made by [`deny`], or a fault, made by `?` from any error.
///
/// It is no [`Error`] itself, so that `?` can turn every error into one, as `anyhow` does it. `anyhow::Error` and
/// `Box<dyn Error>` are no [`Error`]s either: `.map_err(Reject::fault)?` turns those.
pub struct Reject(Kind);

enum Kind {
    Denied(Denial),
    Fault(Fault),
}

/// Refuses the request with 403 Forbidden; `message` is what the user reads.
///
/// ```
/// # use vestibule::{deny, Reject};
/// fn check(replicas: i32) -> Result<(), Reject> {
///     if replicas > 10 {
///         return Err(deny("too many replicas").field("spec.replicas", "at most 10"));
///     }
///     Ok(())
/// }
/// assert!(check(11).is_err());
/// ```
pub fn deny(message: impl Into<String>) -> Reject {
    Reject(Kind::Denied(Denial::new(message)))
}

impl Reject {
    /// Names a field and what is wrong with it; kubectl prints it. A fault has no fields and stays as it is.
    #[must_use]
    pub fn field(self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.map(|denial| denial.field(field, message))
    }

    /// Another HTTP status than 403, from 400 to 599. A fault stays as it is.
    #[must_use]
    pub fn code(self, code: u16) -> Self {
        self.map(|denial| denial.code(code))
    }

    /// Another reason than `Forbidden`. A fault stays as it is.
    #[must_use]
    pub fn reason(self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.map(|denial| denial.reason(reason))
    }

    /// A fault by hand, where there is no error to use `?` on.
    pub fn fault(message: impl std::fmt::Display) -> Self {
        Self(Kind::Fault(Fault::new(FaultKind::Error, message)))
    }

    fn map(self, change: impl FnOnce(Denial) -> Denial) -> Self {
        match self.0 {
            Kind::Denied(denial) => Self(Kind::Denied(change(denial))),
            fault @ Kind::Fault(_) => Self(fault),
        }
    }
}

impl<E: Error> From<E> for Reject {
    fn from(error: E) -> Self {
        Self::fault(error)
    }
}

impl From<Reject> for Outcome {
    fn from(reject: Reject) -> Self {
        match reject.0 {
            Kind::Denied(denial) => Self::Denied(denial),
            Kind::Fault(fault) => Self::Fault(fault),
        }
    }
}

impl From<Reject> for Verdict {
    fn from(reject: Reject) -> Self {
        Outcome::from(reject).into()
    }
}

/// So that a test can `unwrap`: says which of the two it is, and the text meant for the user.
impl std::fmt::Debug for Reject {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Denied(denial) => formatter.debug_tuple("Denied").field(&denial.message).finish(),
            Kind::Fault(fault) => formatter.debug_tuple("Fault").field(&fault.message).finish(),
        }
    }
}
