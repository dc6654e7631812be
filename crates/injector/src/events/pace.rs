//! How often is often enough.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::report::Key;

/// The same again is told at most this often; Kubernetes counts it in one Event then.
const SAME_AGAIN: Duration = Duration::from_secs(300);

/// All together: so many at once, and one more each time so much has passed.
const AT_ONCE: u32 = 25;
const ONE_MORE: Duration = Duration::from_secs(2);

/// How many are remembered. Who makes owners up makes no memory of us.
const REMEMBERED: usize = 2_000;

/// Lets through what is new, and little of that.
pub(super) struct Pace {
    told: HashMap<Key, Instant>,
    left: u32,
    /// When `left` was last counted up.
    counted: Instant,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { told: HashMap::new(), left: AT_ONCE, counted: now }
    }

    /// Whether what `key` stands for may be told `now`; if so, it counts as told.
    pub(super) fn admits(&mut self, key: Key, now: Instant) -> bool {
        let recent = |told: &Instant| now.duration_since(*told) < SAME_AGAIN;
        if self.told.get(&key).is_some_and(recent) || !self.has_one_left(now) {
            return false;
        }
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| recent(told));
        }
        if self.told.len() >= REMEMBERED {
            return false;
        }
        self.left -= 1;
        self.told.insert(key, now);
        true
    }

    fn has_one_left(&mut self, now: Instant) -> bool {
        let passed = now.duration_since(self.counted).as_secs() / ONE_MORE.as_secs();
        if let Ok(more) = u32::try_from(passed)
            && more > 0
        {
            self.left = self.left.saturating_add(more).min(AT_ONCE);
            self.counted = now;
        }
        self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(owner: usize) -> Key {
        Key { owner: format!("u{owner}"), rule: "nginx".into(), reason: "InjectionConflict" }
    }

    #[test]
    fn the_same_is_told_once_in_a_while() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert!(pace.admits(key(1), start));
        assert!(!pace.admits(key(1), start + SAME_AGAIN / 2));
        assert!(pace.admits(key(2), start));
        assert!(pace.admits(key(1), start + SAME_AGAIN));
    }

    #[test]
    fn a_flood_becomes_a_trickle() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let admitted = (0..1_000).filter(|owner| pace.admits(key(*owner), start)).count();
        assert_eq!(admitted, 25);
        let later = start + ONE_MORE * 3;
        let admitted = (1_000..2_000).filter(|owner| pace.admits(key(*owner), later)).count();
        assert_eq!(admitted, 3);
    }

    #[test]
    fn memory_is_bounded() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for owner in 0..10_000 {
            now += ONE_MORE;
            pace.admits(key(owner), now);
        }
        assert!(pace.told.len() <= REMEMBERED, "{}", pace.told.len());
    }
}
