//! Waiting for an effect of another process, by asking again and again.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::Error;

/// Evaluates `condition` every 20 ms until it is true, and returns how long that took.
///
/// The condition is evaluated at least once and is never cancelled, so it may change state.
///
/// # Errors
/// [`Error::Late`], which names `what`, if the condition is still false when `patience` is over.
pub async fn until(
    what: &str,
    patience: Duration,
    mut condition: impl AsyncFnMut() -> bool,
) -> Result<Duration, Error> {
    const PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    while !condition().await {
        if start.elapsed() >= patience {
            return Err(Error::Late { what: what.to_owned(), seconds: patience.as_secs() });
        }
        sleep(PAUSE).await;
    }
    Ok(start.elapsed())
}

/// Calls `attempt` every 50 ms until it returns a value, for at most `seconds`. An attempt that hangs is cancelled.
pub(crate) async fn retry<T>(
    what: &str,
    seconds: u64,
    mut attempt: impl AsyncFnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    const PAUSE: Duration = Duration::from_millis(50);
    let attempts = async {
        loop {
            if let Some(outcome) = attempt().await? {
                return Ok(outcome);
            }
            sleep(PAUSE).await;
        }
    };
    let late = Error::Late { what: what.to_owned(), seconds };
    timeout(Duration::from_secs(seconds), attempts).await.unwrap_or(Err(late))
}
