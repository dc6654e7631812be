//! F06: new replicas get their share of the calls, because every connection has a maximum age.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use webhook_load::Load;

use super::Row;
use super::fixture::{hook, reached_rate, review, summary};
use crate::rig::{Balancer, Process, Program};

const RATE: f64 = 500.0;
/// The default maximum age of a connection in seconds; all times here derive from it.
const AGE: u64 = 300;
const ANSWERED: &str = "vestibule_admission_requests_total";

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    // Jitter adds up to a fifth to the maximum age.
    let wait = Duration::from_secs(AGE * 6 / 5);
    let folder = Arc::new(tempfile::tempdir()?);
    let start = || Process::start(Program::Webhook, &folder, &[]);
    let balancer = Balancer::start().await?;
    let mut replicas = vec![start().await?];
    balancer.add(replicas[0].address());
    let callers = (0..3).map(|_| Ok(Arc::new(replicas[0].caller_by(balancer.address())?)));
    let callers = callers.collect::<anyhow::Result<Vec<_>>>()?;
    let calls = Load::open(RATE).start(&callers, &hook("wait"), &[review()?]);
    sleep(Duration::from_secs(5)).await;
    for _ in 0..2 {
        let replica = start().await?;
        balancer.add(replica.address());
        replicas.push(replica);
    }
    sleep(wait).await;
    let before = answered(&replicas).await?;
    // Three generations of connections, because it is random which of them are busy.
    sleep(Duration::from_secs(3 * AGE)).await;
    let after = answered(&replicas).await?;
    let report = calls.stop().await;

    let each: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let all = each.iter().sum::<f64>().max(1.0);
    let shares: Vec<_> = each.iter().map(|one| one / all).collect();
    let held = report.failures() == 0
        && reached_rate(&report, RATE)
        && shares.iter().all(|share| (0.25..=0.42).contains(share));
    let figure = shares.iter().map(|share| format!("{:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ");
    let done = format!(
        "1 replica becomes 3 under {RATE} calls/s, connections live {AGE} s; shares of {} s after {wait:?}",
        3 * AGE
    );
    Ok(vec![Row::of("F06", done).seen(summary(&report)).judged(figure, "25 to 42 % each, 0 failed", held)])
}

async fn answered(replicas: &[Process]) -> anyhow::Result<Vec<f64>> {
    let mut all = Vec::new();
    for replica in replicas {
        all.push(replica.metric(ANSWERED).await?);
    }
    Ok(all)
}
