//! What was proved before.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many proofs are kept; then all are forgotten.
const MOST: usize = 10_000;

/// What came to rest, alone or together: nobody has to prove it again as long as it says the same. For
/// [`RuleSet::prove_further`](crate::RuleSet::prove_further).
#[derive(Default)]
pub struct Proofs(Mutex<HashSet<String>>);

impl Proofs {
    pub(super) fn has(&self, name: &str) -> bool {
        self.names().contains(name)
    }

    pub(super) fn note(&self, name: String) {
        let mut names = self.names();
        if names.len() >= MOST {
            names.clear();
        }
        names.insert(name);
    }

    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
