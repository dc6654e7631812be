//! What a handler makes of a request.

use vestibule_patch::Patch;

use crate::{AuditAnnotations, Denial, Fault, Warnings};

/// The outcome of a review and what is said beside it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Verdict {
    /// What happens to the request.
    pub outcome: Outcome,
    /// Lines the user sees, whatever the outcome.
    pub warnings: Warnings,
    /// Notes for the API server's audit log.
    pub audit: AuditAnnotations,
}

/// What happens to the request.
#[derive(Clone)]
pub enum Outcome {
    /// It goes on as it is.
    Allowed,
    /// It goes on, changed. No operations is the same as [`Outcome::Allowed`].
    Mutated(Patch),
    /// It ends here, on purpose.
    Denied(Denial),
    /// Nobody knows: the hook's `failurePolicy` decides.
    Fault(Fault),
    /// Not yet: ask again in a second. kube-apiserver does, within its deadline (docs/apiserver.md, Retries).
    NotReady(String),
}

impl Verdict {
    /// The request goes on as it is.
    pub fn allowed() -> Self {
        Outcome::Allowed.into()
    }

    /// The request goes on, changed by `patch`: a list of operations, or what came of an [`Edit`](vestibule_patch::Edit).
    pub fn mutated(patch: impl Into<Patch>) -> Self {
        Outcome::Mutated(patch.into()).into()
    }

    /// Not yet: what is still missing, in a few words.
    pub fn not_ready(missing: impl Into<String>) -> Self {
        Outcome::NotReady(missing.into()).into()
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, warnings: Warnings::default(), audit: AuditAnnotations::default() }
    }
}

impl From<Denial> for Verdict {
    fn from(denial: Denial) -> Self {
        Outcome::Denied(denial).into()
    }
}

impl From<Fault> for Verdict {
    fn from(fault: Fault) -> Self {
        Outcome::Fault(fault).into()
    }
}
