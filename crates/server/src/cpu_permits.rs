//! How many tasks may compute at a time.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::permits::{Permits, worker_threads};

/// On a single thread, the runtime asks for events after handlers have computed for this time. By itself it does so after 61 polls,
/// each of which may be a handler: connections would wait for their handshake, and requests for their refusal, longer than the API
/// server does. Asking before each handler would make a short one take an eighth longer.
const EVENTS_AFTER: Duration = Duration::from_micros(125);

/// Permits to compute. A task holds a permit only while it is polled, and none while it awaits something. Tasks without a permit
/// wait here: in the runtime's queue they would delay tasks that only read or refuse requests.
pub(crate) struct CpuPermits {
    permits: Permits,
    /// On a single thread: the time in nanoseconds for which handlers have computed since the runtime last asked for events.
    computed: Option<AtomicU64>,
}

/// The times of one task.
#[derive(Default)]
pub(crate) struct Times {
    /// The waits for permits after the first one.
    pub(crate) waited: Duration,
    /// The time in which the task was polled.
    pub(crate) computed: Duration,
}

impl CpuPermits {
    pub(crate) fn new(limit: usize) -> Self {
        Self { permits: Permits::new(limit), computed: None }
    }

    /// For the handlers on the current runtime.
    pub(crate) fn for_handlers(limit: usize) -> Self {
        Self { computed: (worker_threads() == 1).then(AtomicU64::default), ..Self::new(limit) }
    }

    pub(crate) fn limit(&self) -> u32 {
        self.permits.limit
    }

    /// The number of permits that are taken, and of all.
    pub(crate) fn usage(&self) -> (u64, u64) {
        self.permits.usage()
    }

    pub(crate) fn available(&self) -> usize {
        self.permits.free.available_permits()
    }

    pub(crate) async fn acquire(&self) -> SemaphorePermit<'_> {
        let permit = self.permits.acquire().await;
        if let Some(computed) = &self.computed
            && computed.load(Ordering::Relaxed) >= nanoseconds(EVENTS_AFTER)
        {
            computed.store(0, Ordering::Relaxed);
            // The runtime asks for events, and polls the tasks that these wake, before this task.
            yield_now().await;
        }
        permit
    }

    /// Yields if no permit is free, so that the task that got this task's permit runs. Tokio runs the task that was woken last on
    /// the same thread, after the current task, and no other thread can take it.
    pub(crate) async fn yield_to_next(&self) {
        let mut has_yielded = self.available() > 0;
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
        times: &mut Times,
    ) -> W::Output {
        let mut work = pin!(work);
        let mut permit = first;
        loop {
            let began = Instant::now();
            let polled = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
            drop(permit);
            let polled_for = began.elapsed();
            times.computed += polled_for;
            if let Some(computed) = &self.computed {
                computed.fetch_add(nanoseconds(polled_for), Ordering::Relaxed);
            }
            if let Poll::Ready(outcome) = polled {
                return outcome;
            }
            woken().await;
            let woken_at = Instant::now();
            permit = self.acquire().await;
            times.waited += woken_at.elapsed();
        }
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Resolves when the task is woken.
async fn woken() {
    let mut slept = false;
    poll_fn(|_| if mem::replace(&mut slept, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;
    use tokio::task::{JoinSet, yield_now};

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
            permits.run(work, permits.acquire().await, &mut Times::default()).await;
        };
        let other = async {
            let work = async { begun.fetch_add(1, Ordering::Relaxed) };
            permits.run(work, permits.acquire().await, &mut Times::default()).await;
        };
        tokio::join!(one, other);
        assert_eq!(permits.available(), 1);
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

    #[tokio::test]
    async fn a_runtime_of_one_thread_sees_events_between_two_long_handlers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut near, _) = listener.accept().await.unwrap();
        let (permits, order) = (Arc::new(CpuPermits::for_handlers(1)), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = JoinSet::new();
        let seen = Arc::clone(&order);
        tasks.spawn(async move {
            near.read_exact(&mut [0]).await.unwrap();
            seen.lock().unwrap().push("event");
        });
        let first = permits.acquire().await;
        for _ in 0..2 {
            let (permits, order) = (Arc::clone(&permits), Arc::clone(&order));
            tasks.spawn(async move {
                let permit = permits.acquire().await;
                let handler = async { order.lock().unwrap().push("handler") };
                permits.run(handler, permit, &mut Times::default()).await;
            });
        }
        // All tasks wait.
        yield_now().await;
        far.write_all(b"a").unwrap();
        let computes = async { thread::sleep(EVENTS_AFTER) };
        permits.run(computes, first, &mut Times::default()).await;
        tasks.join_all().await;
        assert_eq!(*order.lock().unwrap(), ["event", "handler", "handler"]);
    }
}
