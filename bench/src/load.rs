//! The load: calls one after the other (closed loop), each on a new connection, or at a rate (open loop).

pub(crate) mod open;
mod pool;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::connection::{Answer, Connection, Target};
use crate::process::{Process, own_cpu};

/// The figures of a load.
pub(crate) struct Sample {
    /// Calls with a good answer.
    pub(crate) calls: u64,
    pub(crate) elapsed: Duration,
    pub(crate) server_cpu: Duration,
    /// CPU time of the thread that makes the calls.
    pub(crate) client_cpu: Duration,
    /// Latencies in nanoseconds.
    pub(crate) latency: Histogram<u64>,
}

/// A closed loop.
#[derive(Clone)]
pub(crate) struct Closed {
    pub(crate) connections: usize,
    /// Whether each call has a connection of its own.
    pub(crate) reconnects: bool,
    pub(crate) warm_up: Duration,
    pub(crate) during: Duration,
}

type Latency = Arc<Mutex<Histogram<u64>>>;

/// An empty histogram of nanoseconds, with an error below 1 %.
pub(crate) fn histogram() -> anyhow::Result<Histogram<u64>> {
    Ok(Histogram::new(2)?)
}

impl Closed {
    /// Opens the connections, warms up, and measures.
    pub(crate) async fn run(
        &self,
        process: &Process,
        target: &Target,
        request: &Arc<[u8]>,
    ) -> anyhow::Result<Sample> {
        let mut connections = Vec::new();
        for _ in 0..self.connections {
            connections.push(target.connect().await?);
        }
        let unused = Latency::new(Mutex::new(histogram()?));
        let connections = self.calls(connections, target, request, &unused, self.warm_up).await?;
        let latency = Latency::new(Mutex::new(histogram()?));
        let (server, client, began) = (process.cpu()?, own_cpu(), Instant::now());
        let connections = self.calls(connections, target, request, &latency, self.during).await?;
        let elapsed = began.elapsed();
        let (server_cpu, client_cpu) =
            (process.cpu()?.saturating_sub(server), own_cpu().saturating_sub(client));
        drop(connections);
        let latency = latency.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Sample { calls: latency.len(), elapsed, server_cpu, client_cpu, latency })
    }

    /// Calls on all connections for this time. Calls in flight are finished.
    async fn calls(
        &self,
        connections: Vec<Connection>,
        target: &Target,
        request: &Arc<[u8]>,
        latency: &Latency,
        during: Duration,
    ) -> anyhow::Result<Vec<Connection>> {
        let end = Instant::now() + during;
        let reconnects = self.reconnects;
        let mut tasks = JoinSet::new();
        for mut connection in connections {
            let (target, request, latency) = (target.clone(), Arc::clone(request), Arc::clone(latency));
            tasks.spawn(async move {
                loop {
                    let began = Instant::now();
                    if began >= end {
                        return anyhow::Ok(connection);
                    }
                    if reconnects {
                        connection = target.connect().await?;
                    }
                    let answer = connection.call(&request).await?;
                    let took = u64::try_from(began.elapsed().as_nanos())?;
                    expect_success(&answer)?;
                    latency.lock().unwrap_or_else(PoisonError::into_inner).record(took)?;
                    if answer.closes && !reconnects {
                        connection = target.connect().await?;
                    }
                }
            });
        }
        let mut open = Vec::new();
        while let Some(connection) = tasks.join_next().await {
            open.push(connection??);
        }
        Ok(open)
    }
}

/// An error with the begin of the body unless the answer is 200.
pub(crate) fn expect_success(answer: &Answer) -> anyhow::Result<()> {
    if answer.status != 200 {
        let text: String = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
        bail!("status {}: {text}", answer.status);
    }
    Ok(())
}
