//! S8: more calls than a handler of 1 ms can answer.

use std::sync::Arc;
use std::time::Duration;

use crate::certificates::Key;
use crate::connection::{Target, request};
use crate::figure::{P50, P99, Row};
use crate::load::Closed;
use crate::load::open::{Arrivals, Open};
use crate::process::Process;
use crate::run::{Bench, Expected};
use crate::servers::working;
use bench::review::{Review, SMALL};

/// Connections of the load that finds the capacity, and idle ones of the open loop: several API servers.
const CONNECTIONS: usize = 32;
/// Calls that were admitted and answered, in percent of the capacity.
pub(crate) const GOODPUT: &str = "goodput %";
/// Memory in percent of that before the overload.
pub(crate) const GROWTH: &str = "memory %";

/// A kind of overload.
struct Overload {
    times: f64,
    timeout: Duration,
    retries: bool,
}

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = bench.available(working());
    let servers = bench.agreeing(servers, &review, Expected::Unchanged).await?;
    let seconds = Duration::from_secs;
    let mut overloads = vec![
        Overload { times: 2.0, timeout: seconds(2), retries: false },
        Overload { times: 4.0, timeout: seconds(2), retries: false },
    ];
    if !bench.options.main_cases_only() {
        overloads.push(Overload { times: 2.0, timeout: seconds(10), retries: true });
    }
    let during = seconds(if bench.options.quick { 3 } else { 8 });
    let mut rows = Vec::new();
    for overload in overloads {
        let Overload { times, timeout, retries } = overload;
        let after = if retries { ", refused calls come again after Retry-After" } else { "" };
        let case = format!("{times} × capacity, {} s timeout{after}", timeout.as_secs());
        let mut measured = Vec::new();
        for server in &servers {
            let process = bench.running.start(&server.backend, Key::P256).await?;
            let target = bench.running.target(&process)?;
            let request: Arc<[u8]> = request(server.path, &review.body).into();
            let mut row = Row::new("S8", &case, &server.name);
            let capacity = capacity(&process, &target, &request).await?;
            let before = process.memory()?.0;
            process.forget_peak()?;
            let arrivals = Arrivals::Rate(capacity * times);
            let load = Open { arrivals, during, timeout, pool: CONNECTIONS, opens_more: true, retries };
            let outcomes = load.run(&process, &target, &request).await?;
            row.add("capacity/s", capacity);
            row.add(GOODPUT, outcomes.answered as f64 / outcomes.elapsed.as_secs_f64() / capacity * 100.0);
            row.add(P50, outcomes.latency.value_at_quantile(0.5) as f64 / 1e3);
            row.add(P99, outcomes.latency.value_at_quantile(0.99) as f64 / 1e3);
            let share = |count: u64| count as f64 / outcomes.due.max(1) as f64 * 100.0;
            row.add("refused %", share(outcomes.refused));
            row.add("timed out %", share(outcomes.timed_out));
            row.add("broken %", share(outcomes.broken));
            row.add(GROWTH, process.memory()?.1 as f64 / before.max(1) as f64 * 100.0);
            measured.push(row);
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}

/// Calls in a second, which warms the server up too.
async fn capacity(process: &Process, target: &Target, request: &Arc<[u8]>) -> anyhow::Result<f64> {
    let (warm_up, during) = (Duration::from_millis(500), Duration::from_secs(2));
    let load = Closed { connections: CONNECTIONS, reconnects: false, warm_up, during };
    let sample = load.run(process, target, request).await?;
    Ok(sample.calls as f64 / sample.elapsed.as_secs_f64())
}
