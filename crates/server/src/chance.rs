//! Numbers by chance, of no use as secrets.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

pub(crate) fn chance() -> u64 {
    // Its keys are other ones each time.
    RandomState::new().build_hasher().finish()
}
