//! Calls at a rate or in bursts, however long the answers take, with a pool of idle connections, a timeout, and retries where the
//! server asks for them, as API servers make them.
//!
//! Latency counts from the moment a call was due, so a call that waited for this client counts as slow (no coordinated omission).

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::histogram;
use super::pool::Pool;
use crate::connection::Target;
use crate::process::{Process, own_cpu};

/// Idle connections that kube-apiserver keeps for each server.
pub(crate) const POOL: usize = 25;
/// How often kube-apiserver repeats a request.
const RETRIES: u32 = 10;

/// An open loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) arrivals: Arrivals,
    pub(crate) during: Duration,
    pub(crate) timeout: Duration,
    /// Idle connections that are kept.
    pub(crate) pool: usize,
    /// Whether a call that finds no idle connection opens one; it waits otherwise.
    pub(crate) opens_more: bool,
    /// Whether an answer with `Retry-After` is repeated after that time.
    pub(crate) retries: bool,
}

/// When calls are due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// One after the other, this many in a second.
    Rate(f64),
    /// This many at once, again and again.
    Bursts(usize, Duration),
}

/// The outcomes of the calls.
pub(crate) struct Outcomes {
    pub(crate) due: u64,
    pub(crate) answered: u64,
    /// Answers other than 200, after retries.
    pub(crate) refused: u64,
    pub(crate) timed_out: u64,
    /// Connections that ended, or could not be made.
    pub(crate) broken: u64,
    /// The first error of a connection.
    pub(crate) error: Option<String>,
    /// Connections that were opened for calls.
    pub(crate) opened: u64,
    /// The latency of answered calls in nanoseconds, from the moment each was due.
    pub(crate) latency: Histogram<u64>,
    pub(crate) elapsed: Duration,
    pub(crate) server_cpu: Duration,
    pub(crate) client_cpu: Duration,
}

struct Shared {
    load: Open,
    request: Arc<[u8]>,
    pool: Arc<Pool>,
    outcomes: Mutex<Outcomes>,
}

enum End {
    Answered,
    Refused,
}

impl Open {
    /// Makes the calls and waits for their answers.
    pub(crate) async fn run(
        self,
        process: &Process,
        target: &Target,
        request: &Arc<[u8]>,
    ) -> anyhow::Result<Outcomes> {
        // A burst shows how many connections are opened, so it begins with a full pool; so does a steady rate.
        let pool = Pool::full(target, self.pool, self.opens_more).await?;
        let (server, client, began) = (process.cpu()?, own_cpu(), Instant::now());
        let shared = Arc::new(Shared {
            load: self,
            request: Arc::clone(request),
            pool,
            outcomes: Mutex::new(Outcomes::new()?),
        });
        let mut due = self.arrivals.during(self.during);
        let mut calls = JoinSet::new();
        while let Some(due) = due.recv().await {
            calls.spawn(Arc::clone(&shared).call(due));
            while calls.try_join_next().is_some() {}
        }
        while calls.join_next().await.is_some() {}
        let opened = shared.pool.end().await;
        let mut outcomes = std::mem::replace(&mut *shared.outcomes(), Outcomes::new()?);
        outcomes.opened = opened;
        outcomes.elapsed = began.elapsed();
        outcomes.server_cpu = process.cpu()?.saturating_sub(server);
        outcomes.client_cpu = own_cpu().saturating_sub(client);
        Ok(outcomes)
    }
}

impl Arrivals {
    /// Sends the moment of each call when it is due, from a thread, because tokio's timer has a resolution of 1 ms.
    fn during(self, during: Duration) -> mpsc::UnboundedReceiver<Instant> {
        let (arrive, arrivals) = mpsc::unbounded_channel();
        let began = Instant::now();
        thread::spawn(move || {
            for number in 0_u32.. {
                let (after, count) = match self {
                    Self::Rate(rate) => (Duration::from_secs_f64(f64::from(number) / rate), 1),
                    Self::Bursts(count, every) => (every * number, count),
                };
                if after >= during {
                    return;
                }
                let due = began + after;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if (0..count).any(|_| arrive.send(due).is_err()) {
                    return;
                }
            }
        });
        arrivals
    }
}

impl Shared {
    async fn call(self: Arc<Self>, due: Instant) {
        let left = self.load.timeout.saturating_sub(due.elapsed());
        let ended = timeout(left, self.answered()).await;
        let took = u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut outcomes = self.outcomes();
        outcomes.due += 1;
        match ended {
            Ok(Ok(End::Answered)) => {
                outcomes.answered += 1;
                // Recording fails only in a histogram that may not grow.
                let _ = outcomes.latency.record(took);
            }
            Ok(Ok(End::Refused)) => outcomes.refused += 1,
            Err(_) => outcomes.timed_out += 1,
            Ok(Err(error)) => {
                outcomes.broken += 1;
                outcomes.error.get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }

    async fn answered(&self) -> anyhow::Result<End> {
        for _ in 0..=RETRIES {
            let mut connection = self.pool.take().await?;
            let answer = connection.call(&self.request).await?;
            if !answer.closes {
                self.pool.give(connection);
            }
            match answer.retry_after {
                _ if answer.status == 200 => return Ok(End::Answered),
                Some(seconds) if self.load.retries => tokio::time::sleep(Duration::from_secs(seconds)).await,
                _ => return Ok(End::Refused),
            }
        }
        Ok(End::Refused)
    }

    fn outcomes(&self) -> std::sync::MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outcomes {
    fn new() -> anyhow::Result<Self> {
        let none = Duration::ZERO;
        Ok(Self {
            due: 0,
            answered: 0,
            refused: 0,
            timed_out: 0,
            broken: 0,
            error: None,
            opened: 0,
            latency: histogram()?,
            elapsed: none,
            server_cpu: none,
            client_cpu: none,
        })
    }
}
