//! Denials: the refusal of a request, with a reason for the user.

use std::borrow::Cow;

use serde::Serialize;

/// The refusal of a request on purpose, with a reason for the user. It holds under every `failurePolicy`; an error is a
/// [`Fault`](crate::Fault) instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// The HTTP status that the user gets, 400 to 599; 403 by default.
    pub code: u16,
    /// One word for programs (`metav1.StatusReason`), such as `Forbidden`.
    pub reason: Cow<'static, str>,
    /// One sentence for the user.
    pub message: String,
    /// The causes, each with its field.
    pub causes: Vec<Cause>,
    /// Seconds after which a retry makes sense. The API server sends it as `Retry-After` if `code` is 429. At
    /// most 2,147,483,647 are sent (`metav1.StatusDetails`).
    pub retry_after_seconds: Option<u32>,
}

/// One cause of a denial (`metav1.StatusCause`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// One word for programs, such as `FieldValueInvalid`.
    pub reason: Cow<'static, str>,
    /// One sentence for the user.
    pub message: String,
    /// The field, such as `spec.containers[0].image`.
    pub field: String,
}

impl Denial {
    /// A denial with 403 Forbidden.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: 403,
            reason: Cow::Borrowed("Forbidden"),
            message: message.into(),
            causes: Vec::new(),
            retry_after_seconds: None,
        }
    }

    /// Sets another HTTP status. A status outside of 400 to 599 is sent as 403: kube-apiserver rewrites lower ones, and closes
    /// the user's connection on some higher ones (docs/apiserver.md, Answers).
    #[must_use]
    pub fn code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Sets another reason, such as `Invalid`.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Adds a field with its problem.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        let reason = Cow::Borrowed("FieldValueInvalid");
        self.causes.push(Cause { reason, message: message.into(), field: field.into() });
        self
    }

    pub(crate) fn code_to_send(&self) -> u16 {
        if (400..600).contains(&self.code) { self.code } else { 403 }
    }

    /// The field is an `int32` in Go. With a larger number kube-apiserver does not decode the answer, and under
    /// `failurePolicy: Ignore` it admits the request.
    pub(crate) fn seconds_to_send(&self) -> Option<i32> {
        self.retry_after_seconds.map(|seconds| i32::try_from(seconds).unwrap_or(i32::MAX))
    }
}
