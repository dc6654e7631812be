//! The proofs of earlier calls.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The proofs that are kept; at this number all of them are dropped.
const MAX_PROOFS: usize = 10_000;

/// The rules, alone or together, that were proved to settle. They are not proved again until their documents change. For
/// [`RuleSet::prove_further`](crate::RuleSet::prove_further).
#[derive(Default)]
pub struct Proofs(Mutex<HashSet<String>>);

impl Proofs {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.keys().contains(key)
    }

    pub(super) fn insert(&self, key: String) {
        let mut keys = self.keys();
        if keys.len() >= MAX_PROOFS {
            keys.clear();
        }
        keys.insert(key);
    }

    fn keys(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
