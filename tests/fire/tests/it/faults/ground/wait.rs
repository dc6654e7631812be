//! Asking until something is so, or as long as it has to be.

use std::time::{Duration, Instant};

/// Seconds that are waited for are those of a free machine; on a crowded one all takes longer, and that is no failure.
const CROWDED: u32 = 3;

/// Asks until it is so; says how long that took.
pub(crate) async fn until(what: &str, seconds: u64, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let (start, patience) = (Instant::now(), Duration::from_secs(seconds) * CROWDED);
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
