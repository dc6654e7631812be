//! The verdict of a handler.

use vestibule_patch::Patch;

use crate::{AuditAnnotations, Denial, Fault, Warnings};

/// The outcome of a review, with warnings and audit annotations.
#[derive(Clone)]
#[non_exhaustive]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// Warnings for the user, with every outcome.
    pub warnings: Warnings,
    /// Annotations for the API server's audit log.
    pub audit: AuditAnnotations,
}

/// The outcome of a request.
#[derive(Clone)]
pub enum Outcome {
    /// The request goes on unchanged.
    Allowed,
    /// The request goes on, changed. A patch without operations is the same as [`Outcome::Allowed`].
    Mutated(Patch),
    /// The request is denied.
    Denied(Denial),
    /// There is no decision; the hook's `failurePolicy` decides.
    Fault(Fault),
    /// The hook is not ready. kube-apiserver retries after a second, within its deadline (docs/apiserver.md, Retries).
    NotReady(String),
}

impl Verdict {
    /// The request goes on unchanged.
    pub fn allowed() -> Self {
        Outcome::Allowed.into()
    }

    /// The request goes on, changed by `patch`: a list of operations, or the patch of an [`Edit`](vestibule_patch::Edit).
    pub fn mutated(patch: impl Into<Patch>) -> Self {
        Outcome::Mutated(patch.into()).into()
    }

    /// The hook is not ready, with the reason in a few words.
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
