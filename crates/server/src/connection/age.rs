//! How old a connection may become.

use std::time::Duration;

use crate::chance::chance;

/// `age`, 20 % more or less by chance: connections that were opened together are not to be closed together.
pub(super) fn about(age: Duration) -> Duration {
    let chance = chance() as f64 / u64::MAX as f64;
    let fifth = age / 5;
    (age - fifth).saturating_add((fifth * 2).mul_f64(chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_fifth_more_or_less() {
        let age = Duration::from_secs(300);
        let drawn: Vec<_> = (0..1000).map(|_| about(age).as_secs()).collect();
        assert!(drawn.iter().all(|seconds| (240..=360).contains(seconds)), "{drawn:?}");
        // That one of these fails by chance is less likely than one in 10^96.
        assert!(drawn.iter().any(|seconds| *seconds < 264) && drawn.iter().any(|seconds| *seconds > 336));
        assert_eq!(about(Duration::ZERO), Duration::ZERO);
        assert!(about(Duration::MAX) > Duration::MAX / 2);
    }
}
