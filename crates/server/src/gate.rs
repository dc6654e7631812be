//! How many handlers run, how many of them compute, and how many requests may wait for that.

mod pace;

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};

use self::pace::{Pace, Run};
use crate::load::{Counted, One, Places, all_but_one, threads};
use crate::settings::Settings;
use crate::turns::Turns;

/// However slow handlers are, so many may wait: a pool of the API server that comes at once is no overload.
const SHORTEST_QUEUE: u64 = 8;

/// Stands between "body read" and "handler": before the body, waiting would hide in socket buffers.
///
/// A handler is in one of three places. It waits until it is let in and has its first turn; it computes, which few can do
/// at a time, on a thread of the runtime; or it has begun and awaits something, which many can do.
pub(crate) struct Gate {
    /// Those who are in. Whoever waits for his first turn is in already, and counted as waiting.
    places: Places,
    pub(crate) running: Counted,
    pub(crate) waiting: Counted,
    turns: Turns,
    longest_queue: u64,
    latency_budget: Duration,
    /// With a single thread, whoever has come meanwhile is seen only when it is let go.
    is_alone: bool,
    pace: Pace,
}

/// A place in the queue before a gate.
pub(crate) struct Place<'a> {
    gate: &'a Gate,
    waits: One<'a>,
}

/// As many wait as may.
pub(crate) struct Full;

/// The deadline passed before the first turn came.
pub(crate) struct NoTurn;

/// There was no decision in time.
pub(crate) struct Late;

impl Gate {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self::of(settings, settings.max_computing.unwrap_or_else(|| all_but_one(threads())).max(1))
    }

    /// For those who take so long that nobody is to wait behind them: one at a time, [apart](crate::apart).
    pub(crate) fn apart(settings: &Settings) -> Self {
        Self::of(settings, 1)
    }

    fn of(settings: &Settings, turns: usize) -> Self {
        Self {
            places: Places::new(settings.max_running),
            running: Counted::default(),
            waiting: Counted::default(),
            turns: Turns::new(turns),
            longest_queue: settings.max_waiting.try_into().unwrap_or(u64::MAX),
            latency_budget: settings.latency_budget,
            is_alone: threads() == 1,
            pace: Pace::default(),
        }
    }

    /// How many handlers may have begun.
    pub(crate) fn most_running(&self) -> u64 {
        self.places.limit.into()
    }

    /// How many handlers compute, and how many may.
    pub(crate) fn computing(&self) -> (u64, u64) {
        self.turns.taken()
    }

    /// How many may wait now: as many as handlers get done in the latency budget.
    pub(crate) fn bound(&self) -> u64 {
        match self.pace.done_within(self.latency_budget, self.turns.number(), self.places.limit) {
            Some(done) => done.max(SHORTEST_QUEUE).min(self.longest_queue),
            None => self.longest_queue,
        }
    }

    /// Takes a place, or says at once that there is none.
    pub(crate) fn queue(&self) -> Result<Place<'_>, Full> {
        let waits = self.waiting.one();
        // Whoever can begin at once does not wait.
        let free = self.turns.free().min(self.places.free.available_permits());
        let bound = self.bound().saturating_add(u64::try_from(free).unwrap_or(u64::MAX));
        if self.waiting.now() > bound { Err(Full) } else { Ok(Place { gate: self, waits }) }
    }
}

impl Place<'_> {
    /// What `work` comes to until `deadline`. It is begun in the order of the queue.
    pub(crate) async fn pass<W: Future>(
        self,
        deadline: Instant,
        work: impl FnOnce() -> W,
    ) -> Result<Result<W::Output, Late>, NoTurn> {
        let Self { gate, waits } = self;
        let first = async {
            if gate.is_alone {
                yield_now().await;
            }
            (gate.places.take().await, gate.turns.next().await)
        };
        let (_place, turn) = timeout_at(deadline, first).await.map_err(|_| NoTurn)?;
        // A turn that came at last is taken although it comes too late: no handler is begun to be blamed for that.
        if deadline <= Instant::now() {
            return Err(NoTurn);
        }
        let _running = gate.running.one();
        drop(waits);
        let work = work();
        let mut run = Run::begin(&gate.pace);
        let outcome = timeout_at(deadline, gate.turns.take(work, turn, &mut run)).await.map_err(|_| Late);
        gate.turns.step_aside().await;
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_begun_after_its_deadline() {
        // Where there are several threads, a turn that is free is there at the first look, however late that is.
        let gate = Gate { is_alone: false, ..Gate::new(&Settings::default()) };
        let mut begun = false;
        let place = gate.queue().unwrap_or_else(|Full| panic!("nobody waits"));
        let outcome = place.pass(Instant::now(), || async { begun = true }).await;
        assert!(matches!(outcome, Err(NoTurn)));
        assert!(!begun);
        assert_eq!((gate.running.now(), gate.waiting.now()), (0, 0));
        assert_eq!(gate.turns.free(), all_but_one(threads()));
    }

    #[tokio::test]
    async fn who_computes_is_counted_and_who_awaits_is_not() {
        let gate = Gate::new(&Settings { max_computing: Some(3), ..Settings::default() });
        let deadline = Instant::now() + Duration::from_secs(60);
        let place = gate.queue().unwrap_or_else(|Full| panic!("nobody waits"));
        let (said, hear) = tokio::sync::oneshot::channel();
        let work = || async {
            let computing = gate.computing();
            let awaiting = hear.await;
            (computing, awaiting)
        };
        let look = async { said.send(gate.computing()) };
        let (outcome, looked) = tokio::join!(place.pass(deadline, work), look);
        assert!(looked.is_ok());
        let Ok(Ok((computing, awaiting))) = outcome else { panic!("there was time") };
        assert_eq!((computing, awaiting), ((1, 3), Ok((0, 3))));
        assert_eq!(gate.computing(), (0, 3));
    }
}
