//! The time that the proof of rules may take.

use std::cell::Cell;
use std::time::Instant;

/// The instant until which rules are proved, and whether the proof ended because of it.
pub(crate) struct ProofDeadline {
    /// [`None`]: no limit.
    until: Option<Instant>,
    was_reached: Cell<bool>,
}

impl ProofDeadline {
    pub(crate) fn none() -> Self {
        Self { until: None, was_reached: Cell::new(false) }
    }

    pub(crate) fn at(until: Instant) -> Self {
        Self { until: Some(until), ..Self::none() }
    }

    /// Whether there is time to prove one more rule.
    pub(super) fn has_time(&self) -> bool {
        let has_time = self.until.is_none_or(|until| Instant::now() < until);
        self.was_reached.set(self.was_reached.get() || !has_time);
        has_time
    }

    /// Whether a rule was left unproved.
    pub(super) fn was_reached(&self) -> bool {
        self.was_reached.get()
    }
}
