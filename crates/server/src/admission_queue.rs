//! The bounded queue of calls between "body read" and "handler runs".
//!
//! A call waits here after its body was read. Before that, the buffers of sockets would hide it. A call is in one of three states:
//! it waits for its first CPU permit; its handler computes, for which there are few permits; or its handler awaits something, for
//! which there is more room.

mod throughput;

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use self::throughput::{Measurement, Throughput};
use crate::cpu_permits::CpuPermits;
use crate::permits::{Gauge, GaugeGuard, Permits, all_but_one, worker_threads};
use crate::settings::Settings;

/// This many calls may wait however slow handlers are: one API server's connections may all send a call at once.
const MIN_QUEUE: u64 = 8;

pub(crate) struct AdmissionQueue {
    /// Permits of the calls whose handler runs, or that wait for their first CPU permit; the latter are counted as waiting.
    running_permits: Permits,
    pub(crate) running: Gauge,
    pub(crate) waiting: Gauge,
    cpu: CpuPermits,
    longest: u64,
    latency_budget: Duration,
    throughput: Throughput,
}

/// A call in the queue.
pub(crate) struct QueuedCall<'a> {
    queue: &'a AdmissionQueue,
    waits: GaugeGuard<'a>,
}

/// The queue is full.
pub(crate) struct QueueFull;

/// The deadline passed before the handler began.
pub(crate) struct NotStarted;

/// The deadline passed while the handler ran.
pub(crate) struct TimedOut;

impl AdmissionQueue {
    pub(crate) fn new(settings: &Settings) -> Self {
        let computing = settings.max_computing.unwrap_or_else(|| all_but_one(worker_threads()));
        Self::with_cpu_permits(settings, computing.max(1))
    }

    /// For calls with large bodies: one computes at a time, [offloaded](crate::offload).
    pub(crate) fn for_large_bodies(settings: &Settings) -> Self {
        Self::with_cpu_permits(settings, 1)
    }

    fn with_cpu_permits(settings: &Settings, number: usize) -> Self {
        Self {
            running_permits: Permits::new(settings.max_running),
            running: Gauge::default(),
            waiting: Gauge::default(),
            cpu: CpuPermits::for_handlers(number),
            longest: settings.max_waiting.try_into().unwrap_or(u64::MAX),
            latency_budget: settings.latency_budget,
            throughput: Throughput::default(),
        }
    }

    /// The most handlers that may have begun.
    pub(crate) fn max_running(&self) -> u64 {
        self.running_permits.limit.into()
    }

    /// The number of handlers that compute, and their limit.
    pub(crate) fn computing(&self) -> (u64, u64) {
        self.cpu.usage()
    }

    /// The most calls that may wait now: as many as handlers complete within the latency budget.
    pub(crate) fn max_waiting(&self) -> u64 {
        let running = self.running_permits.limit;
        match self.throughput.completed_within(self.latency_budget, self.cpu.limit(), running) {
            Some(completed) => completed.max(MIN_QUEUE).min(self.longest),
            None => self.longest,
        }
    }

    /// Adds a call to the queue, if it is not full.
    pub(crate) fn enter(&self) -> Result<QueuedCall<'_>, QueueFull> {
        let waits = self.waiting.increment();
        // Calls that begin at once do not count as waiting.
        let free = self.cpu.available().min(self.running_permits.free.available_permits());
        let most = self.max_waiting().saturating_add(u64::try_from(free).unwrap_or(u64::MAX));
        if self.waiting.value() > most { Err(QueueFull) } else { Ok(QueuedCall { queue: self, waits }) }
    }
}

impl QueuedCall<'_> {
    /// Waits for this call's turn, then runs `work` until `deadline`.
    pub(crate) async fn run<W: Future>(
        self,
        deadline: Instant,
        work: impl FnOnce() -> W,
    ) -> Result<Result<W::Output, TimedOut>, NotStarted> {
        let Self { queue, waits } = self;
        let permits = async { (queue.running_permits.acquire().await, queue.cpu.acquire().await) };
        let (_running, cpu) = timeout_at(deadline, permits).await.map_err(|_| NotStarted)?;
        // Permits that are free are granted even after the deadline. No handler begins then: its timeout would be blamed on it.
        if deadline <= Instant::now() {
            return Err(NotStarted);
        }
        let _counted = queue.running.increment();
        drop(waits);
        let work = work();
        let mut measurement = Measurement::begin(&queue.throughput);
        let outcome = timeout_at(deadline, queue.cpu.run(work, cpu, &mut measurement.times)).await;
        queue.cpu.yield_to_next().await;
        Ok(outcome.map_err(|_| TimedOut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_handler_begins_after_its_deadline() {
        let queue = AdmissionQueue::new(&Settings::default());
        let mut begun = false;
        let call = queue.enter().unwrap_or_else(|QueueFull| panic!("the queue is empty"));
        let outcome = call.run(Instant::now(), || async { begun = true }).await;
        assert!(matches!(outcome, Err(NotStarted)));
        assert!(!begun);
        assert_eq!((queue.running.value(), queue.waiting.value()), (0, 0));
        assert_eq!(queue.cpu.available(), all_but_one(worker_threads()));
    }

    #[tokio::test]
    async fn a_handler_that_computes_is_counted_and_one_that_awaits_is_not() {
        let queue = AdmissionQueue::new(&Settings { max_computing: Some(3), ..Settings::default() });
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = queue.enter().unwrap_or_else(|QueueFull| panic!("the queue is empty"));
        let (send, receive) = tokio::sync::oneshot::channel();
        let work = || async {
            let computing = queue.computing();
            let awaiting = receive.await;
            (computing, awaiting)
        };
        let look = async { send.send(queue.computing()) };
        let (outcome, looked) = tokio::join!(call.run(deadline, work), look);
        assert!(looked.is_ok());
        let Ok(Ok((computing, awaiting))) = outcome else { panic!("there was time") };
        assert_eq!((computing, awaiting), ((1, 3), Ok((0, 3))));
        assert_eq!(queue.computing(), (0, 3));
    }
}
