//! How many tasks may compute at a time.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use crate::permits::Permits;

/// A task has a permit only while it is polled; a task that awaits something has none. Tasks wait here instead of in the runtime's
/// queue, where tasks that only read or refuse would wait behind them.
pub(crate) struct CpuPermits(Permits);

/// Is told the times of one task.
pub(crate) trait Measure {
    /// The task waited for a permit this long.
    fn waited(&mut self, _time: Duration) {}

    /// The task was polled for this long.
    fn computed(&mut self, _time: Duration) {}
}

/// Measures nothing.
impl Measure for () {}

impl CpuPermits {
    pub(crate) fn new(number: usize) -> Self {
        Self(Permits::new(number))
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.limit
    }

    pub(crate) fn free(&self) -> usize {
        self.0.free.available_permits()
    }

    /// The number of permits that are taken, and of all.
    pub(crate) fn usage(&self) -> (u64, u64) {
        self.0.usage()
    }

    pub(crate) async fn acquire(&self) -> SemaphorePermit<'_> {
        self.0.acquire().await
    }

    /// Lets the task run that got the permit of this one. Tokio runs the task that was woken last on the thread that woke it, after
    /// the current task, and no other thread takes it over; so the current task goes behind it if no permit is free.
    pub(crate) async fn yield_to_next(&self) {
        let mut has_yielded = self.free() > 0;
        poll_fn(|context| {
            if mem::replace(&mut has_yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Runs `work`, and polls it only with a permit; `first` is the one for the first poll.
    pub(crate) async fn run<W: Future>(
        &self,
        work: W,
        first: SemaphorePermit<'_>,
        measure: &mut impl Measure,
    ) -> W::Output {
        let mut work = pin!(work);
        let mut permit = first;
        loop {
            let began = Instant::now();
            let polled = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
            drop(permit);
            measure.computed(began.elapsed());
            if let Poll::Ready(outcome) = polled {
                return outcome;
            }
            woken().await;
            let asked = Instant::now();
            permit = self.acquire().await;
            measure.waited(asked.elapsed());
        }
    }
}

/// Resolves when the task is woken.
async fn woken() {
    let mut slept = false;
    poll_fn(|_| if mem::replace(&mut slept, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn a_task_that_awaits_has_no_permit() {
        let permits = CpuPermits::new(1);
        let begun = AtomicUsize::new(0);
        let one = async {
            let work = async {
                begun.fetch_add(1, Ordering::Relaxed);
                // Each waits until both have begun. The second would never begin if the first kept its permit.
                while begun.load(Ordering::Relaxed) < 2 {
                    yield_now().await;
                }
            };
            permits.run(work, permits.acquire().await, &mut ()).await;
        };
        let other = async {
            let work = async { begun.fetch_add(1, Ordering::Relaxed) };
            permits.run(work, permits.acquire().await, &mut ()).await;
        };
        tokio::join!(one, other);
        assert_eq!(permits.free(), 1);
    }

    /// On one worker thread, which does not run the test itself.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_task_yields_to_the_one_that_got_its_permit() {
        let (permits, order) = (Arc::new(CpuPermits::new(1)), Arc::new(Mutex::new(Vec::new())));
        let (of_next, heard) = (Arc::clone(&permits), Arc::clone(&order));
        let next = async move {
            let _permit = of_next.acquire().await;
            heard.lock().unwrap().push("next");
        };
        let heard = Arc::clone(&order);
        let had = async move {
            let permit = permits.acquire().await;
            let next = tokio::spawn(next);
            yield_now().await;
            drop(permit);
            permits.yield_to_next().await;
            heard.lock().unwrap().push("yielded");
            next.await.unwrap();
        };
        tokio::spawn(had).await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["next", "yielded"]);
    }
}
