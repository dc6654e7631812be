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

/// On a single thread, a handler yields after handlers have computed for this time. By itself, tokio polls its I/O driver after 61
/// polls, each of which may be a handler: connections would wait for their handshake, and requests for their refusal, longer than the
/// API server does. A yield before each handler would make a short one take 15 % longer (docs/adr/0115).
const HANDLERS: Duration = Duration::from_micros(125);
/// The same for handshakes. Each wakes the next, so a handler that yields would wait for 61 of them.
const HANDSHAKES: Duration = Duration::from_millis(1);

/// Permits to compute. A task holds a permit only while it is polled, and none while it awaits something. Tasks without a permit
/// wait here: in the runtime's queue they would delay tasks that only read or refuse requests.
pub(crate) struct CpuPermits {
    permits: Permits,
    /// For a single thread.
    computed: Option<Computed>,
}

/// How long tasks have computed since one of them yielded, and after how long one yields.
struct Computed {
    nanoseconds: AtomicU64,
    limit: u64,
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
    pub(crate) fn for_handlers(limit: usize) -> Self {
        Self::new(limit, HANDLERS)
    }

    pub(crate) fn for_handshakes(limit: usize) -> Self {
        Self::new(limit, HANDSHAKES)
    }

    fn new(limit: usize, yields_after: Duration) -> Self {
        let computed = Computed { nanoseconds: AtomicU64::default(), limit: nanoseconds(yields_after) };
        Self { permits: Permits::new(limit), computed: (worker_threads() == 1).then_some(computed) }
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
        if let Some(Computed { nanoseconds, limit }) = &self.computed
            && nanoseconds.load(Ordering::Relaxed) >= *limit
        {
            // The task is polled again after the I/O driver. A runtime for several threads polls the tasks of the events after it.
            yield_now().await;
            nanoseconds.store(0, Ordering::Relaxed);
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
                computed.nanoseconds.fetch_add(nanoseconds(polled_for), Ordering::Relaxed);
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
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn an_awaiting_task_holds_no_permit() {
        let permits = CpuPermits::for_handshakes(1);
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
        let (permits, order) = (Arc::new(CpuPermits::for_handshakes(1)), Arc::new(Mutex::new(Vec::new())));
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

    /// Two handlers wait while another one computes for [`HANDLERS`], and an event arrives meanwhile. Returns the order in which the
    /// event is seen and the two handlers run.
    async fn order(permits: CpuPermits) -> Vec<&'static str> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut near, _) = listener.accept().await.unwrap();
        let (permits, order) = (Arc::new(permits), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = JoinSet::new();
        let seen = Arc::clone(&order);
        tasks.spawn(async move {
            near.read_exact(&mut [0]).await.unwrap();
            seen.lock().unwrap().push("event");
        });
        let permit = permits.acquire().await;
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
        let computes = async { thread::sleep(HANDLERS) };
        permits.run(computes, permit, &mut Times::default()).await;
        tasks.join_all().await;
        order.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn on_one_thread_events_are_seen_after_handlers_have_computed_for_some_time() {
        assert_eq!(order(CpuPermits::for_handlers(1)).await, ["event", "handler", "handler"]);
        assert_eq!(order(CpuPermits::new(1, Duration::MAX)).await, ["handler", "handler", "event"]);
    }
}
