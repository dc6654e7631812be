//! Faults: errors because of which there is no decision.

use std::fmt;
use std::time::Duration;

use crate::one_line::one_line;

/// An error before a decision was made. It is answered with HTTP 500, so that the hook's `failurePolicy` decides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// One line, which kube-apiserver quotes to the user. It may quote the object, so it must not be logged.
    pub message: String,
    /// The type of the error, for logs: the name of a type contains no data of users.
    pub error: Option<&'static str>,
}

/// The kinds of faults, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The handler returned an error that is not a denial.
    Error,
    /// The object cannot be decoded into the handler's type, or nests too deeply.
    Undecodable,
    /// The handler panicked.
    Panic,
    /// The handler gave no verdict within the deadline.
    Deadline,
    /// The patch does not apply to the received object, or the API server would refuse it.
    Patch,
}

impl Fault {
    /// A fault of the given kind. The first 256 characters of the message are kept, on one line.
    pub fn new(kind: FaultKind, message: impl fmt::Display) -> Self {
        Self { kind, message: one_line(&message.to_string(), 256), error: None }
    }

    /// The fault of a call that was not decided within `budget`, of the `timeout` that kube-apiserver waits. The text has the
    /// words `timeout` and `context deadline exceeded`, which people and alert rules search for.
    pub(crate) fn timeout(what: impl fmt::Display, budget: Duration, timeout: Duration) -> Self {
        let (budget, timeout) = (in_words(budget), in_words(timeout));
        let message = format_args!(
            "timeout: {what} within {budget} of the {timeout} that the API server waits (context deadline exceeded)"
        );
        Self::new(FaultKind::Deadline, message)
    }
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Error, Self::Undecodable, Self::Panic, Self::Deadline, Self::Patch];

    /// One lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Undecodable => "undecodable",
            Self::Panic => "panic",
            Self::Deadline => "deadline",
            Self::Patch => "patch",
        }
    }
}

/// `750 ms`, `2 s`
fn in_words(time: Duration) -> String {
    let milliseconds = time.as_millis();
    if milliseconds.is_multiple_of(1000) {
        format!("{} s", time.as_secs())
    } else {
        format!("{milliseconds} ms")
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The answer to a fault of a handler.
///
/// ```
/// use vestibule_admission::{Hook, OnFault};
/// # use std::time::Instant;
/// # use vestibule_admission::{Handler, HandlerFuture, Request, Verdict};
/// # struct Guard;
/// # impl Handler for Guard {
/// #     fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
/// #         Box::pin(async { Verdict::allowed() })
/// #     }
/// # }
///
/// let hook = Hook::validating("guard", Guard).on_fault(OnFault::Deny);
/// # let _ = hook;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFault {
    /// HTTP 500, so that the registration's `failurePolicy` decides.
    #[default]
    FailurePolicy,
    /// The request goes on, with a warning that has the fault's text, even under `failurePolicy: Fail`.
    AllowWithWarning,
    /// A denial with code 500, even under `failurePolicy: Ignore`.
    Deny,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Handler, HandlerFuture, Hook, Outcome, Request, Verdict};

    struct Allows;

    impl Handler for Allows {
        fn handle<'a>(&'a self, _: &'a Request<'a>, _: std::time::Instant) -> HandlerFuture<'a> {
            Box::pin(async { Verdict::allowed() })
        }
    }

    /// Alert rules, people and the API server's own tests look for `timeout` or `context deadline exceeded`.
    #[test]
    fn a_missed_deadline_says_timeout_and_context_deadline_exceeded() {
        let hook = Hook::mutating("label", Allows);
        for (budget, timeout, expected) in
            [(750, 1000, "750 ms of the 1 s"), (1000, 1333, "1 s of the 1333 ms")]
        {
            let verdict = hook.out_of_time(Duration::from_millis(budget), Duration::from_millis(timeout));
            let Outcome::Fault(fault) = verdict.outcome else { panic!("a fault") };
            assert_eq!(
                fault.message,
                format!(
                    "timeout: hook label gave no verdict within {expected} that the API server waits \
                     (context deadline exceeded)"
                )
            );
        }
    }

    /// Dashboards and alerts name them.
    #[test]
    fn each_fault_kind_has_its_word() {
        use FaultKind::{Deadline, Error, Panic, Patch, Undecodable};
        let words =
            [Error, Undecodable, Panic, Deadline, Patch].map(|kind| (kind.as_str(), kind.to_string()));
        let expected =
            ["error", "undecodable", "panic", "deadline", "patch"].map(|word| (word, word.to_owned()));
        assert_eq!(words, expected);
    }
}
