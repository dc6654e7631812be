//! Random numbers for trace ids and jitter; they are no secrets.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// A random number: the standard library gives each `RandomState` other keys.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// `duration`, 20 % more or less: connections that were opened together are not closed together.
pub(crate) fn jittered(duration: Duration) -> Duration {
    let share = random() as f64 / u64::MAX as f64;
    let fifth = duration / 5;
    (duration - fifth).saturating_add((fifth * 2).mul_f64(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_a_fifth_more_or_less() {
        let age = Duration::from_secs(300);
        let drawn: Vec<_> = (0..1000).map(|_| jittered(age).as_secs()).collect();
        assert!(drawn.iter().all(|seconds| (240..=360).contains(seconds)), "{drawn:?}");
        // Either side fails by chance less often than once in 10^96 runs.
        assert!(drawn.iter().any(|seconds| *seconds < 264) && drawn.iter().any(|seconds| *seconds > 336));
        assert_eq!(jittered(Duration::ZERO), Duration::ZERO);
        assert!(jittered(Duration::MAX) > Duration::MAX / 2);
    }
}
