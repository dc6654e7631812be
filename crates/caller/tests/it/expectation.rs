//! The outcome that an answer must have.

use vestibule_caller::{Allowed, Answer, Denied, Failed, Hook, Outcome, judge};

use crate::fixture::review;

pub(crate) fn expect_allowed(case: &str, hook: &Hook, answer: &Answer) -> Allowed {
    match judge(&review(), hook, answer) {
        Outcome::Allowed(allowed) => allowed,
        Outcome::Denied(denied) => panic!("{case}: {}", denied.message),
        Outcome::Failed(failed) => panic!("{case}: {}", failed.message),
    }
}

pub(crate) fn expect_denied(hook: &Hook, answer: &Answer) -> Denied {
    match judge(&review(), hook, answer) {
        Outcome::Denied(denied) => denied,
        Outcome::Allowed(_) => panic!("allowed"),
        Outcome::Failed(failed) => panic!("{}", failed.message),
    }
}

pub(crate) fn expect_failed(case: &str, hook: &Hook, answer: &Answer) -> Failed {
    match judge(&review(), hook, answer) {
        Outcome::Failed(failed) => failed,
        Outcome::Allowed(_) => panic!("{case}: allowed"),
        Outcome::Denied(denied) => panic!("{case}: {}", denied.message),
    }
}
