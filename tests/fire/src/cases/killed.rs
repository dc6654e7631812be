//! F03: a replica is killed under load. Only its calls in flight may fail, and calls that reach its address until the
//! balancer removes it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use webhook_load::{Failure, Load};

use super::Row;
use super::fixture::{hook, reached_rate, review, summary};
use crate::rig::{Balancer, Process, Program};

const KILLS: usize = 10;
const RATE: f64 = 200.0;
const PATIENCE: Duration = Duration::from_secs(10);
/// The time from the kill to the removal of the endpoint.
const LAG: Duration = Duration::from_millis(500);
/// The 100 ms of a handler, and a margin.
const UNDER_WAY: Duration = Duration::from_millis(200);

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let folder = Arc::new(tempfile::tempdir()?);
    let start = || Process::start(Program::Webhook, &folder, &[]);
    let balancer = Balancer::start().await?;
    let mut replicas = vec![start().await?, start().await?];
    replicas.iter().for_each(|replica| balancer.add(replica.address()));
    let caller = Arc::new(replicas[0].caller_by(balancer.address())?);
    let calls = Load::open(RATE).start(&[caller], &hook("wait"), &[review()?]);
    let mut victims = BTreeSet::new();
    for _ in 0..KILLS {
        sleep(Duration::from_secs(1)).await;
        let mut victim = replicas.remove(0);
        victim.signal("-KILL")?;
        victim.ended(PATIENCE).await?;
        sleep(LAG).await;
        balancer.remove(victim.address());
        victims.insert(victim.address());
        let next = start().await?;
        balancer.add(next.address());
        replicas.push(next);
    }
    sleep(Duration::from_secs(1)).await;
    let report = calls.stop().await;
    let (mut interrupted, mut refused) = (0, 0);
    for victim in victims {
        interrupted += balancer.interrupted(victim) as u64;
        refused += balancer.refused(victim) as u64;
    }
    let dead_ends = [Failure::Broken, Failure::Handshake, Failure::Connect];
    let dead_ends: u64 = dead_ends.iter().filter_map(|end| report.failed.get(end)).sum();
    // The calls that are due while the dead endpoint is listed, and the calls in flight at the kill.
    let bound = (RATE * (LAG + UNDER_WAY).as_secs_f64() * KILLS as f64) as u64;
    let looked = interrupted > 0 && refused > 0 && reached_rate(&report, RATE);
    let failed = report.failures();
    let held = looked && failed == dead_ends && failed <= (interrupted + refused).min(bound);
    let done = format!(
        "{KILLS} x SIGKILL to one of two replicas, whose endpoint goes {} ms later, {RATE} calls/s of 100 ms each",
        LAG.as_millis()
    );
    let limit = format!(
        "nothing but the {interrupted} that it was answering and the {refused} connections that met a dead process; \
         {bound} at most"
    );
    Ok(vec![Row::of("F03", done).seen(summary(&report)).judged(format!("{failed} failed"), limit, held)])
}
