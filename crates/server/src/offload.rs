//! Long computations that hold up no other task.

use std::future::poll_fn;
use std::pin::pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Polls `work` on a thread that the runtime replaces meanwhile: other tasks keep their number of threads, and the operating
/// system divides the CPUs. On a runtime of one thread, all other tasks wait.
pub(crate) async fn offload<W: Future>(work: W) -> W::Output {
    let mut work = pin!(work);
    let has_threads = |runtime: Handle| runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    poll_fn(|context| {
        let mut poll = || work.as_mut().poll(context);
        if Handle::try_current().is_ok_and(has_threads) { block_in_place(poll) } else { poll() }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_run_during_offloaded_work() {
        let (done, other) = mpsc::channel();
        let work = tokio::spawn(offload(async move {
            tokio::spawn(async move { done.send(()) });
            other.recv_timeout(Duration::from_secs(60))
        }));
        assert_eq!(work.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_runs_the_work_itself() {
        assert_eq!(offload(async { 1 }).await, 1);
    }
}
