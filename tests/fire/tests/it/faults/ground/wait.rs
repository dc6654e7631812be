//! Asking until something is so, or as long as it has to be.

use std::time::{Duration, Instant};

/// Asks until it is so; says how long that took.
pub(crate) async fn until(what: &str, seconds: u64, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < Duration::from_secs(seconds), "not within {seconds} s: {what}");
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
