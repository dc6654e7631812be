//! Rules that another replica may have already, and that calls of this one wait for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Replicas hear of a change within milliseconds of each other, and compile it for longer.
const LONGEST: Duration = Duration::from_secs(2);
/// More rules than these are not on their way at the same time.
const MOST: usize = 16;
/// The length of a hash of rules.
const DIGITS: usize = 12;

/// The hashes of rules that calls waited for since the rules in force changed last. The hash is taken from the object, which
/// may be a copy of an old one: rules that did not come within two seconds are not waited for again.
#[derive(Default)]
pub(crate) struct Awaited(Mutex<State>);

#[derive(Default)]
struct State {
    in_force: String,
    /// Since when, the oldest first.
    hashes: Vec<(String, Instant)>,
}

impl Awaited {
    /// Until when a call waits for rules of `hash`, where those of `in_force` are in force; [`None`] if it does not.
    pub(crate) fn until(&self, hash: &str, in_force: &str) -> Option<Instant> {
        if hash.len() != DIGITS || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let now = Instant::now();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.in_force != in_force {
            *state = State { in_force: in_force.to_owned(), hashes: Vec::new() };
        }
        if let Some((_, since)) = state.hashes.iter().find(|(known, _)| known == hash) {
            return Some(*since + LONGEST).filter(|end| *end > now);
        }
        if state.hashes.len() >= MOST {
            // All that are on their way are still waited for.
            if state.hashes.first().is_some_and(|(_, since)| *since + LONGEST > now) {
                return None;
            }
            state.hashes.remove(0);
        }
        state.hashes.push((hash.to_owned(), now));
        Some(now + LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789ab";

    #[tokio::test(start_paused = true)]
    async fn rules_are_waited_for_once_until_others_are_in_force() {
        let (awaited, began) = (Awaited::default(), Instant::now());
        assert_eq!(awaited.until(HASH, "a"), Some(began + LONGEST));
        tokio::time::advance(LONGEST / 2).await;
        assert_eq!(awaited.until(HASH, "a"), Some(began + LONGEST), "the first one says when");
        tokio::time::advance(LONGEST / 2).await;
        assert_eq!(awaited.until(HASH, "a"), None);
        assert!(awaited.until(HASH, "b").is_some());
        for no_hash in ["", "0123", "no hash at a", "0123456789abc"] {
            assert_eq!(awaited.until(no_hash, "b"), None, "{no_hash}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn invented_hashes_take_neither_time_nor_memory_without_bound() {
        let awaited = Awaited::default();
        let ask = |number: usize| awaited.until(&format!("{number:012x}"), "a").is_some();
        assert_eq!((0..1_000).filter(|number| ask(*number)).count(), MOST);
        tokio::time::advance(LONGEST).await;
        assert!(ask(1_000));
        assert_eq!(awaited.0.lock().unwrap().hashes.len(), MOST);
    }
}
