//! The number of bytes that may pass before a connection is cut.

use std::sync::{Mutex, PoisonError};

/// The remaining bytes; unlimited at first.
#[derive(Default)]
pub(super) struct Allowance(Mutex<Option<usize>>);

impl Allowance {
    pub(super) fn set(&self, bytes: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    }

    /// How many of `bytes` may pass. Once fewer than all pass, the allowance is unlimited again.
    pub(super) fn take(&self, bytes: usize) -> usize {
        let mut remaining = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passing = remaining.map_or(bytes, |remaining| remaining.min(bytes));
        *remaining = remaining.filter(|_| passing == bytes).map(|remaining| remaining - passing);
        passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_applies_once() {
        let allowance = Allowance::default();
        assert_eq!(allowance.take(9), 9);
        allowance.set(9);
        assert_eq!([5, 4, 5, 5].map(|bytes| allowance.take(bytes)), [5, 4, 0, 5]);
        allowance.set(9);
        assert_eq!([5, 5, 5].map(|bytes| allowance.take(bytes)), [5, 4, 5]);
    }
}
