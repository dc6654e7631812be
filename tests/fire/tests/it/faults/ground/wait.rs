//! Waiting until a condition becomes true, or while it stays true.

use std::time::{Duration, Instant};

/// A wait without a promised time lasts this many times as long as on an idle machine.
const CROWDED: u32 = 3;

/// Waits until `condition` is true, [`CROWDED`] times as long as an idle machine may take; returns the time that passed.
pub(crate) async fn until(what: &str, seconds: u64, condition: impl AsyncFnMut() -> bool) -> Duration {
    vestibule_testenv::until(what, Duration::from_secs(seconds) * CROWDED, condition).await.unwrap()
}

/// Waits until `condition` is true, for exactly the time that docs/reference/rotation-faults.md promises.
pub(crate) async fn promised(what: &str, seconds: u64, condition: impl AsyncFnMut() -> bool) -> Duration {
    vestibule_testenv::until(what, Duration::from_secs(seconds), condition).await.unwrap()
}

/// Asserts every 50 ms that `condition` is true, for `seconds`.
pub(crate) async fn stays(what: &str, seconds: u64, mut condition: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        assert!(condition().await, "no longer true after {:?}: {what}", start.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
