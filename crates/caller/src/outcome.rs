//! The outcome of a call at kube-apiserver, and the result of the user's request.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::hook::Hook;
use crate::review::Review;

/// The outcome of a call. It has no `Debug`, since it holds the object.
pub enum Outcome {
    /// The request may go on.
    Allowed(Allowed),
    /// The webhook denied the request, whatever the failure policy.
    Denied(Denied),
    /// The answer cannot be used.
    Failed(Failed),
}

/// The request may go on. It has no `Debug`, since it holds the object.
#[derive(Clone)]
#[non_exhaustive]
pub struct Allowed {
    /// The object after the patch; [`None`] if the review had none (DELETE).
    pub object: Option<Value>,
    /// The patch that was applied (RFC 6902); [`None`] if there was none, or an empty one.
    pub patch: Option<Value>,
    /// Why a strict implementation of RFC 6902 refuses a patch that kube-apiserver's takes: a `replace` of a missing member, a negative
    /// or zero-padded index, an `add` without value. [`None`] for a patch that applies everywhere.
    pub leniency: Option<String>,
    /// The warnings.
    pub warnings: Warnings,
    /// The audit annotations.
    pub audit_annotations: AuditAnnotations,
}

/// The webhook denied the request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denied {
    /// The HTTP status that the user gets: the webhook's status, or 400 if that is below 400. From 1000 on, kube-apiserver closes the
    /// user's connection without an answer.
    pub code: i32,
    /// `status.reason` of the answer; may be empty.
    pub reason: String,
    /// The message that the user sees.
    pub message: String,
    /// `status.details.causes`.
    pub causes: Vec<Cause>,
    /// `status.details.retryAfterSeconds`; becomes the `Retry-After` header of the user's answer.
    pub retry_after_seconds: Option<i32>,
    /// The warnings.
    pub warnings: Warnings,
    /// The audit annotations.
    pub audit_annotations: AuditAnnotations,
}

/// One of a denial's causes (`metav1.StatusCause`); absent members are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// A word for machines, such as `FieldValueInvalid`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// The field, such as `spec.containers[0].image`.
    pub field: String,
}

/// The answer cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The message that the user sees if the failure refuses the request; the HTTP status is 500.
    pub message: String,
    /// Whether `failurePolicy: Ignore` admits the object. It does not if only the patch of the answer cannot be used.
    pub ignorable: bool,
    /// The warnings, if only the patch cannot be used.
    pub warnings: Warnings,
    /// The audit annotations, if only the patch cannot be used.
    pub audit_annotations: AuditAnnotations,
}

/// The warnings of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warnings {
    /// The warnings that the user sees, cut as kube-apiserver cuts them.
    pub shown: Vec<String>,
    /// The warnings that kube-apiserver drops silently: empty, with a control character, or beyond its limit.
    pub dropped: Vec<String>,
}

/// The audit annotations of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditAnnotations {
    /// The annotations in the audit log, under `WEBHOOK/KEY`.
    pub kept: BTreeMap<String, String>,
    /// Keys that are no qualified name; only kube-apiserver's own log has them.
    pub dropped: Vec<String>,
}

/// A registration's `failurePolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// A failed call refuses the request; kube-apiserver's default.
    Fail,
    /// A failed call admits the object unchanged.
    Ignore,
}

/// The result of the user's request. It has no `Debug`, since it holds the object.
#[derive(Clone)]
pub enum Admission {
    /// The request goes on.
    #[non_exhaustive]
    Admitted {
        /// The object after all changes; [`None`] if the review had none (DELETE).
        object: Option<Value>,
        /// The warnings that the user sees.
        warnings: Vec<String>,
        /// Why the call failed, if [`FailurePolicy::Ignore`] admitted the object.
        failed_open: Option<String>,
    },
    /// The request is refused.
    #[non_exhaustive]
    Refused {
        /// The HTTP status that the user gets.
        code: i32,
        /// `status.reason`; may be empty.
        reason: String,
        /// The message that the user sees.
        message: String,
        /// The causes of a denial.
        causes: Vec<Cause>,
        /// The warnings that the user sees.
        warnings: Vec<String>,
    },
}

impl Outcome {
    /// The result of the request of `review` under this failure policy.
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
    /// The call failed; the failure policy decides.
    pub(crate) fn calling(hook: &Hook, why: &str) -> Self {
        let message = format!("Internal error occurred: failed calling webhook {:?}: {why}", hook.name());
        Self { message, ignorable: true, ..Self::default() }
    }

    /// The patch of the answer cannot be used; the request is refused under every failure policy.
    pub(crate) fn internal(why: &str) -> Self {
        Self { message: format!("Internal error occurred: {why}"), ..Self::default() }
    }
}
