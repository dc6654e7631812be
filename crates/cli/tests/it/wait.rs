//! Waiting for an effect of another process.

use std::time::Duration;

/// Asks until `is_wanted` holds for the answer, and returns that answer. If none comes in time, the error is the last answer.
pub(crate) async fn until<T>(
    mut ask: impl AsyncFnMut() -> T,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<T, T> {
    /// Longer than any step of a test takes.
    const PATIENCE: Duration = Duration::from_secs(120);
    let mut last = None;
    let waited = vestibule_testenv::until("the wanted answer", PATIENCE, async || {
        let answer = ask().await;
        let is_wanted = is_wanted(&answer);
        last = Some(answer);
        is_wanted
    });
    let is_in_time = waited.await.is_ok();
    let answer = last.expect("it asks at least once");
    if is_in_time { Ok(answer) } else { Err(answer) }
}
