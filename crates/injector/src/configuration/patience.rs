//! How long somebody waits for a proof.

use std::cell::Cell;
use std::time::Instant;

/// Until when rules are proved for somebody, and whether more was to be proved then.
#[derive(Default)]
pub(crate) struct Patience {
    /// Nothing: as long as it takes.
    until: Option<Instant>,
    is_over: Cell<bool>,
}

impl Patience {
    pub(crate) fn until(moment: Instant) -> Self {
        Self { until: Some(moment), ..Self::default() }
    }

    /// Whether there is time to prove one more.
    pub(super) fn lasts(&self) -> bool {
        let lasts = self.until.is_none_or(|until| Instant::now() < until);
        self.is_over.set(self.is_over.get() || !lasts);
        lasts
    }

    /// Whether something was left unproved.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }
}
