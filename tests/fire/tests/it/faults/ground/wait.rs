//! Asking until something is so, or as long as it has to be.

use std::time::{Duration, Instant};

/// What no page promises a time for is waited for so many times as long as a free machine takes.
const CROWDED: u32 = 3;

/// Asks until it is so, for longer than a free machine takes; says how long that took.
pub(crate) async fn until(what: &str, seconds: u64, is_so: impl AsyncFnMut() -> bool) -> Duration {
    ask(what, Duration::from_secs(seconds) * CROWDED, is_so).await
}

/// Asks until it is so, for exactly the time that docs/reference/rotation-faults.md promises, on whatever machine.
pub(crate) async fn promised(what: &str, seconds: u64, is_so: impl AsyncFnMut() -> bool) -> Duration {
    ask(what, Duration::from_secs(seconds), is_so).await
}

async fn ask(what: &str, patience: Duration, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < patience, "not within {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    start.elapsed()
}

/// It is so each time that it is asked, for as long.
pub(crate) async fn stays(what: &str, seconds: u64, mut is_so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        assert!(is_so().await, "no longer so after {:?}: {what}", start.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
