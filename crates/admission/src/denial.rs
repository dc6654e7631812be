//! A refusal that the caller's user shall read.

use std::borrow::Cow;

use serde::Serialize;

/// "No", on purpose, with a reason for the user. It holds under every `failurePolicy`; an accident is a
/// [`Fault`](crate::Fault) instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// The HTTP status the user gets, 400 to 599. 403 unless said otherwise; kube-apiserver would make it 400.
    pub code: u16,
    /// One word for programs (`metav1.StatusReason`): `Forbidden`.
    pub reason: Cow<'static, str>,
    /// One sentence for people.
    pub message: String,
    /// Fields and what is wrong with each.
    pub causes: Vec<Cause>,
    /// Seconds after which asking again makes sense; the API server hands it on as `Retry-After` when `code` is 429.
    pub retry_after_seconds: Option<u32>,
}

/// One field and what is wrong with it (`metav1.StatusCause`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// One word for programs: `FieldValueInvalid`.
    pub reason: Cow<'static, str>,
    /// One sentence for people.
    pub message: String,
    /// Where, as people write it: `spec.containers[0].image`.
    pub field: String,
}

impl Denial {
    /// Denied with 403 Forbidden.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: 403,
            reason: Cow::Borrowed("Forbidden"),
            message: message.into(),
            causes: Vec::new(),
            retry_after_seconds: None,
        }
    }

    /// Another HTTP status. One outside 400 to 599 is sent as 403: kube-apiserver rewrites lower ones and drops the
    /// user's connection on some higher ones (docs/apiserver.md, Answers).
    #[must_use]
    pub fn code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Another reason, such as `Invalid`.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Adds a field and what is wrong with it.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        let reason = Cow::Borrowed("FieldValueInvalid");
        self.causes.push(Cause { reason, message: message.into(), field: field.into() });
        self
    }

    pub(crate) fn code_to_send(&self) -> u16 {
        if (400..600).contains(&self.code) { self.code } else { 403 }
    }
}
