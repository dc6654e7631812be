//! S4 and S6: calls at half of the capacity, and bursts of calls.

use std::sync::Arc;
use std::time::Duration;

use crate::certificates::Key;
use crate::connection::request;
use crate::figure::{CPU, MOST, P50, P99, P999, RATE, RATIO, Row};
use crate::load::Closed;
use crate::load::open::{Arrivals, Open, Outcomes, POOL};
use crate::run::Bench;
use crate::servers::{FLOOR, Server};
use bench::review::{Review, SMALL};

/// Connections of the load that finds the capacity.
const CONNECTIONS: usize = 16;
/// A call that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between bursts.
const EVERY: Duration = Duration::from_millis(300);
/// The share of calls for which a connection was opened, in percent.
const OPENED: &str = "new connections %";

/// S4: latency where nothing has to wait long.
pub(super) async fn half(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = bench.mutating(&review).await?;
    let mut capacities = Vec::new();
    for server in &servers {
        capacities.push(capacity(bench, server, &review).await?);
    }
    let slowest = capacities.iter().copied().fold(f64::INFINITY, f64::min);
    let mut rows = Vec::new();
    for own in [true, false] {
        let case = if own { "half of its own capacity" } else { "half of the slowest server's capacity" };
        let mut measured = Vec::new();
        for (server, capacity) in servers.iter().zip(&capacities) {
            let rate = if own { *capacity } else { slowest } / 2.0;
            let mut row = Row::new("S4", &format!("{}, {case}", review.shape), &server.name);
            for _ in 0..rounds(bench) {
                add(&mut row, &at(bench, server, &review, Arrivals::Rate(rate)).await?);
            }
            measured.push(row);
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}

/// S6: bursts, for which the API server has to open connections.
pub(super) async fn bursts(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = bench.mutating(&review).await?;
    let mut rows = Vec::new();
    let sizes: &[usize] = if bench.options.main_cases_only() { &[50] } else { &[20, 50, 100, 200] };
    for calls in sizes.iter().copied() {
        let case = format!("{}, {calls} calls at once, every 300 ms", review.shape);
        let mut measured: Vec<_> = servers.iter().map(|server| Row::new("S6", &case, &server.name)).collect();
        for _ in 0..rounds(bench) {
            let mut floor = f64::NAN;
            for (server, row) in servers.iter().zip(&mut measured) {
                let outcomes = at(bench, server, &review, Arrivals::Bursts(calls, EVERY)).await?;
                let cpu = add(row, &outcomes);
                if server.name == FLOOR {
                    floor = cpu;
                }
                row.add(RATIO, cpu / floor);
                row.add(OPENED, outcomes.opened as f64 / outcomes.due.max(1) as f64 * 100.0);
            }
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}

/// Three rounds; they are longer than those of closed loops.
fn rounds(bench: &Bench) -> usize {
    if bench.options.quick { 1 } else { 3 }
}

/// Calls in a second with [`CONNECTIONS`] connections.
async fn capacity(bench: &mut Bench, server: &Server, review: &Review) -> anyhow::Result<f64> {
    let process = bench.running.process(&server.backend, Key::P256).await?;
    let target = bench.running.target(&process)?;
    let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
    let load = Closed { connections: CONNECTIONS, reconnects: false, warm_up, during };
    let sample = load.run(&process, &target, &request(server.path, &review.body).into()).await?;
    Ok(sample.calls as f64 / sample.elapsed.as_secs_f64())
}

async fn at(
    bench: &mut Bench,
    server: &Server,
    review: &Review,
    arrivals: Arrivals,
) -> anyhow::Result<Outcomes> {
    let process = bench.running.process(&server.backend, Key::P256).await?;
    let target = bench.running.target(&process)?;
    let request: Arc<[u8]> = request(server.path, &review.body).into();
    let during = bench.options.during() * 3;
    // At tens of thousands of calls a second, a pause of one millisecond would make the client open so many connections that it
    // never catches up. No API server calls one webhook so often.
    let opens_more = matches!(arrivals, Arrivals::Bursts(..));
    let load = Open { arrivals, during, timeout: TIMEOUT, pool: POOL, opens_more, retries: false };
    load.run(&process, &target, &request).await
}

/// Adds the figures of one round, and returns the processor time of a call in microseconds.
fn add(row: &mut Row, outcomes: &Outcomes) -> f64 {
    let cpu = outcomes.server_cpu.as_secs_f64() * 1e6 / outcomes.due.max(1) as f64;
    row.add(CPU, cpu);
    row.add(RATE, outcomes.due as f64 / outcomes.elapsed.as_secs_f64());
    for (name, share) in [(P50, 0.5), (P99, 0.99), (P999, 0.999), (MOST, 1.0)] {
        row.add(name, outcomes.latency.value_at_quantile(share) as f64 / 1e3);
    }
    let failed = outcomes.due - outcomes.answered;
    if failed > 0 {
        row.note(format!("{failed} of {} calls failed", outcomes.due));
    }
    cpu
}
