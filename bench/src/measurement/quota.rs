//! S11: 200 Pods a second on a tenth of a processor, as a container with a limit of 100m.

use std::sync::Arc;
use std::time::Duration;

use crate::certificates::Key;
use crate::connection::request;
use crate::figure::{CPU, MOST, P50, P99, Row};
use crate::load::open::{Arrivals, Open, POOL};
use crate::quota::Quota;
use crate::run::Bench;
use bench::review::{Review, SMALL};

const RATE: f64 = 200.0;
/// The share of periods in which the server had to wait, in percent.
pub(crate) const THROTTLED: &str = "throttled %";
pub(crate) const FAILED: &str = "failed %";

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    if let Err(error) = Quota::new() {
        println!("left out: S11 ({error:#})");
        bench.left_out.push(("S11".to_owned(), format!("{error:#}")));
        return Ok(Vec::new());
    }
    let review = Review::new(SMALL)?;
    let servers = bench.mutating(&review).await?;
    let during = Duration::from_secs(if bench.options.quick { 2 } else { 10 });
    let mut rows = Vec::new();
    for server in &servers {
        let mut row = Row::new("S11", "200 Pods/s at a CPU limit of 100m", &server.name);
        let process = bench.running.start(&server.backend, Key::P256).await?;
        let target = bench.running.target(&process)?;
        let request: Arc<[u8]> = request(server.path, &review.body).into();
        let (arrivals, timeout) = (Arrivals::Rate(RATE), Duration::from_secs(10));
        let load = Open { arrivals, during, timeout, pool: POOL, opens_more: true, retries: false };
        // The connections and the first calls are no part of it.
        Open { during: Duration::from_millis(500), ..load }.run(&process, &target, &request).await?;
        let quota = Quota::new()?;
        quota.take(process.id())?;
        let before = quota.periods()?;
        let outcomes = load.run(&process, &target, &request).await?;
        let (periods, throttled) = quota.periods()?;
        drop(process);
        row.add(CPU, outcomes.server_cpu.as_secs_f64() * 1e6 / outcomes.due.max(1) as f64);
        for (name, share) in [(P50, 0.5), (P99, 0.99), (MOST, 1.0)] {
            row.add(name, outcomes.latency.value_at_quantile(share) as f64 / 1e3);
        }
        let (waited, all) = (throttled - before.1, (periods - before.0).max(1));
        row.add(THROTTLED, waited as f64 / all as f64 * 100.0);
        row.add(FAILED, (outcomes.due - outcomes.answered) as f64 / outcomes.due.max(1) as f64 * 100.0);
        rows.push(row);
    }
    Ok(bench.shown(rows))
}
