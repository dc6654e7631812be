//! The end of a replica: its status writer deletes the Lease before the process ends.

use std::time::Duration;

use tokio::sync::watch;

/// The longest wait. The API server may not answer, and the grace period of the pod ends some seconds after the drain.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Ends the status writer of one replica. A clone ends the same writer.
#[derive(Clone)]
pub(crate) struct Ending(watch::Sender<bool>);

impl Ending {
    /// The receiver is for the writer, which drops it when it has ended.
    pub(crate) fn new() -> (Self, watch::Receiver<bool>) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), receiver)
    }

    /// Tells the writer to end, and waits for it, for 2 s at most.
    pub(crate) async fn end(&self) {
        self.0.send_replace(true);
        if tokio::time::timeout(TIMEOUT, self.0.closed()).await.is_err() {
            tracing::debug!("the status writer has not ended in time; the Lease of this replica expires");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_the_writer_is_bounded() {
        let (ending, mut ends) = Ending::new();
        let start = Instant::now();
        ending.end().await;
        assert_eq!(start.elapsed(), TIMEOUT);
        ends.wait_for(|ends| *ends).await.unwrap();
        drop(ends);
        ending.end().await;
        assert_eq!(start.elapsed(), TIMEOUT, "a writer that has ended is not waited for");
    }
}
