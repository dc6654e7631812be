//! What kube-apiserver makes of an answer, and what the user gets in the end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Hook, Review};

/// What kube-apiserver understood. No `Debug`: it holds the object.
pub enum Outcome {
    /// The request may go on.
    Allowed(Allowed),
    /// The webhook said no; no failure policy changes that.
    Denied(Denied),
    /// There was no usable answer.
    Failed(Failed),
}

/// The request may go on. No `Debug`: it holds the object.
#[derive(Clone)]
#[non_exhaustive]
pub struct Allowed {
    /// The object after the patch; `None` where the review had none (DELETE).
    pub object: Option<Value>,
    /// The patch that was applied (RFC 6902); `None` where there was none, or an empty one.
    pub patch: Option<Value>,
    /// What an implementation that keeps to RFC 6902 says against the patch, where kube-apiserver's takes it all the same:
    /// a `replace` of a missing member, a negative or zero-padded index, an `add` without value. `None` for a patch that
    /// applies everywhere.
    pub leniency: Option<String>,
    /// The warnings.
    pub warnings: Warnings,
    /// The audit annotations.
    pub audit_annotations: AuditAnnotations,
}

/// The webhook said no.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denied {
    /// The HTTP status the user gets: what the webhook gave, but 400 for everything below 400. From 1000 on
    /// kube-apiserver drops the user's connection without an answer.
    pub code: i32,
    /// `status.reason` as the webhook gave it; may be empty.
    pub reason: String,
    /// The message as the user sees it.
    pub message: String,
    /// `status.details.causes`.
    pub causes: Vec<Cause>,
    /// `status.details.retryAfterSeconds`; becomes the `Retry-After` header of the user's answer.
    pub retry_after_seconds: Option<i32>,
    /// The warnings; a denial carries them too.
    pub warnings: Warnings,
    /// The audit annotations.
    pub audit_annotations: AuditAnnotations,
}

/// One of a denial's causes (`metav1.StatusCause`); absent members are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// A word for machines, as in `FieldValueInvalid`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// The field it is about, as in `spec.containers[0].image`.
    pub field: String,
}

/// There was no usable answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// What the user sees where the failure counts; the HTTP status is 500.
    pub message: String,
    /// Whether `failurePolicy: Ignore` admits the object. It does not where the answer was understood and its patch
    /// could not be used.
    pub ignorable: bool,
    /// The warnings, where all but the patch was understood.
    pub warnings: Warnings,
    /// The audit annotations, likewise.
    pub audit_annotations: AuditAnnotations,
}

/// The warnings of an answer, sorted by what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// Those the user sees, cut as kube-apiserver cuts them.
    pub shown: Vec<String>,
    /// Those kube-apiserver drops without a word: empty, with a control character, or beyond its limit.
    pub dropped: Vec<String>,
}

/// The audit annotations of an answer, sorted by what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditAnnotations {
    /// Those in the audit log, under `WEBHOOK/KEY`.
    pub kept: BTreeMap<String, String>,
    /// Keys that are no qualified name; only kube-apiserver's own log tells of them.
    pub dropped: Vec<String>,
}

/// A registration's `failurePolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// A failed call refuses the request; kube-apiserver's default.
    Fail,
    /// A failed call lets the object pass as it is.
    Ignore,
}

/// What becomes of the user's request. No `Debug`: it holds the object.
#[derive(Clone)]
pub enum Admission {
    /// It goes on.
    #[non_exhaustive]
    Admitted {
        /// The object as it goes on; `None` where the review had none (DELETE).
        object: Option<Value>,
        /// The warnings the user sees.
        warnings: Vec<String>,
        /// Why the call failed, where the object passed because of [`FailurePolicy::Ignore`].
        failed_open: Option<String>,
    },
    /// It ends here.
    #[non_exhaustive]
    Refused {
        /// The HTTP status the user gets.
        code: i32,
        /// `status.reason`; may be empty.
        reason: String,
        /// The message the user sees.
        message: String,
        /// The fields a denial names.
        causes: Vec<Cause>,
        /// The warnings the user sees.
        warnings: Vec<String>,
    },
}

impl Outcome {
    /// What becomes of `review` under this failure policy.
    pub fn under(self, policy: FailurePolicy, review: &Review) -> Admission {
        match self {
            Self::Allowed(allowed) => Admission::Admitted {
                object: allowed.object,
                warnings: allowed.warnings.shown,
                failed_open: None,
            },
            Self::Denied(denied) => Admission::Refused {
                code: denied.code,
                reason: denied.reason,
                message: denied.message,
                causes: denied.causes,
                warnings: denied.warnings.shown,
            },
            Self::Failed(failed) if failed.ignorable && policy == FailurePolicy::Ignore => {
                Admission::Admitted {
                    object: review.object().cloned(),
                    warnings: failed.warnings.shown,
                    failed_open: Some(failed.message),
                }
            }
            Self::Failed(failed) => Admission::Refused {
                code: 500,
                reason: "InternalError".to_owned(),
                message: failed.message,
                causes: vec![],
                warnings: failed.warnings.shown,
            },
        }
    }
}

impl Failed {
    /// The call itself failed: the failure policy decides.
    pub(crate) fn calling(hook: &Hook, why: &str) -> Self {
        let message = format!("Internal error occurred: failed calling webhook {:?}: {why}", hook.name());
        Self { message, ignorable: true, ..Self::default() }
    }

    /// The answer was understood and cannot be carried out: refused under every failure policy.
    pub(crate) fn internal(why: &str) -> Self {
        Self { message: format!("Internal error occurred: {why}"), ..Self::default() }
    }
}
