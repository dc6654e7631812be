//! The result of a check that did not fail.

pub(crate) enum Outcome {
    Passed,
    /// The check did not run, because this machine lacks a program; the check has printed which.
    LeftOut,
}
