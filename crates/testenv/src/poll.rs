//! Waiting for what another process does.

use std::time::Duration;

use crate::Error;

/// Tries until it works, at most `seconds`; `what` names the event in the error.
pub(crate) async fn until<T>(
    what: &str,
    seconds: u64,
    mut attempt: impl AsyncFnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    const PAUSE: Duration = Duration::from_millis(50);
    let limit = Duration::from_secs(seconds);
    let tries = async {
        loop {
            if let Some(outcome) = attempt().await? {
                return Ok(outcome);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let late = Error::Late { what: what.to_owned(), seconds };
    tokio::time::timeout(limit, tries).await.unwrap_or(Err(late))
}
