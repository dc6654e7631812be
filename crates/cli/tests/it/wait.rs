//! Waiting for an effect of another process.

use std::time::{Duration, Instant};

/// Asks until `is_wanted` holds for the answer, and returns that answer. If none comes in time, the error is the last answer.
pub(crate) async fn until<T>(
    mut ask: impl AsyncFnMut() -> T,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<T, T> {
    /// Longer than any step of a test takes.
    const PATIENCE: Duration = Duration::from_secs(120);
    const PAUSE: Duration = Duration::from_millis(50);
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = ask().await;
        if is_wanted(&answer) {
            return Ok(answer);
        }
        if Instant::now() >= end {
            return Err(answer);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
