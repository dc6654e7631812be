//! Computing in turns.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use crate::load::Places;

/// As many tasks compute at a time as there are turns; whoever awaits something has none. What is queued here is not queued
/// in the runtime, before whoever only has to read.
pub(crate) struct Turns(Places);

/// Told how long somebody took.
pub(crate) trait Measure {
    /// He waited for a turn.
    fn waited(&mut self, _time: Duration) {}

    /// He had one.
    fn computed(&mut self, _time: Duration) {}
}

/// Nobody wants to know.
impl Measure for () {}

impl Turns {
    pub(crate) fn new(number: usize) -> Self {
        Self(Places::new(number))
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.limit
    }

    pub(crate) fn free(&self) -> usize {
        self.0.free.available_permits()
    }

    /// How many are taken, and how many there are.
    pub(crate) fn taken(&self) -> (u64, u64) {
        self.0.held()
    }

    pub(crate) async fn next(&self) -> SemaphorePermit<'_> {
        self.0.take().await
    }

    /// For whoever had the last turn and has other things to do: who has it now is not to wait for those. Tokio keeps the
    /// task that was woken last for the thread that woke it, where no other fetches it: so this one goes behind it.
    pub(crate) async fn step_aside(&self) {
        let mut aside = self.free() > 0;
        poll_fn(|context| {
            if mem::replace(&mut aside, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Polls `work` only while it has a turn; it has the `first` one.
    pub(crate) async fn take<W: Future>(
        &self,
        work: W,
        first: SemaphorePermit<'_>,
        measure: &mut impl Measure,
    ) -> W::Output {
        let mut work = pin!(work);
        let mut turn = first;
        loop {
            let began = Instant::now();
            let polled = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
            drop(turn);
            measure.computed(began.elapsed());
            if let Poll::Ready(outcome) = polled {
                return outcome;
            }
            woken().await;
            let asked = Instant::now();
            turn = self.next().await;
            measure.waited(asked.elapsed());
        }
    }
}

/// Until the task is woken, for whatever reason.
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
    async fn who_awaits_has_no_turn() {
        let turns = Turns::new(1);
        let begun = AtomicUsize::new(0);
        let one = async {
            let work = async {
                begun.fetch_add(1, Ordering::Relaxed);
                // Each waits until both have begun: with a turn that is kept, the second never would.
                while begun.load(Ordering::Relaxed) < 2 {
                    yield_now().await;
                }
            };
            turns.take(work, turns.next().await, &mut ()).await;
        };
        let other = async {
            let work = async { begun.fetch_add(1, Ordering::Relaxed) };
            turns.take(work, turns.next().await, &mut ()).await;
        };
        tokio::join!(one, other);
        assert_eq!(turns.free(), 1);
    }

    /// On one thread, which the test does not hold.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn whoever_had_the_last_turn_goes_on_behind_whoever_has_it_now() {
        let (turns, order) = (Arc::new(Turns::new(1)), Arc::new(Mutex::new(Vec::new())));
        let (of_next, heard) = (Arc::clone(&turns), Arc::clone(&order));
        let next = async move {
            let _turn = of_next.next().await;
            heard.lock().unwrap().push("next");
        };
        let heard = Arc::clone(&order);
        let had = async move {
            let turn = turns.next().await;
            let next = tokio::spawn(next);
            yield_now().await;
            drop(turn);
            turns.step_aside().await;
            heard.lock().unwrap().push("aside");
            next.await.unwrap();
        };
        tokio::spawn(had).await.unwrap();
        assert_eq!(*order.lock().unwrap(), ["next", "aside"]);
    }
}
