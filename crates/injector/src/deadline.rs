//! Instants within a call, and the time of a request to the API server.

use std::time::{Duration, Instant};

use tokio::time::timeout;

/// The longest time that a request of a task may take. The client waits for five minutes, since it carries watches too.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The instant at which `share` of the time that is left until `deadline` is over; the rest is for later steps.
pub(crate) fn share_of_remaining(deadline: Instant, share: f32) -> Instant {
    // Tests pause Tokio's clock.
    let now = tokio::time::Instant::now().into_std();
    now + deadline.saturating_duration_since(now).mul_f32(share)
}

/// The answer to a request, or an error after [`REQUEST_TIMEOUT`]: a connection that is dead without a reset must not hold up a task.
pub(crate) async fn with_timeout<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, kube::Error> {
    let late = |_| Err(kube::Error::Service(format!("timeout: no answer within {REQUEST_TIMEOUT:?}").into()));
    timeout(REQUEST_TIMEOUT, request).await.unwrap_or_else(late)
}
