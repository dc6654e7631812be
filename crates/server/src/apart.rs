//! What takes long, without anybody waiting behind it.

use std::future::poll_fn;
use std::pin::pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Polls `work` on a thread that its runtime replaces meanwhile: whoever comes next has as many threads as ever, and it is the
/// system that shares out the processors. On a runtime of one thread, everybody waits.
pub(crate) async fn apart<W: Future>(work: W) -> W::Output {
    let mut work = pin!(work);
    poll_fn(|context| {
        let mut poll = || work.as_mut().poll(context);
        if has_many_threads() { block_in_place(poll) } else { poll() }
    })
    .await
}

fn has_many_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn nobody_waits_behind_it() {
        let (done, other) = mpsc::channel();
        let work = tokio::spawn(apart(async move {
            tokio::spawn(async move { done.send(()) });
            other.recv_timeout(Duration::from_secs(60))
        }));
        assert_eq!(work.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_single_thread_does_it_itself() {
        assert_eq!(apart(async { 1 }).await, 1);
    }
}
