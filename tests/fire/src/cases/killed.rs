//! F03: a process dies in the middle of its work. What it was answering is lost, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use vestibule_caller::load::{Failure, Load};

use super::Row;
use super::ground::{hook, review, said};
use crate::rig::{Balancer, Process, Program};

const KILLS: usize = 10;
const RATE: f64 = 200.0;
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let folder = Arc::new(tempfile::tempdir()?);
    let start = || Process::start(Program::Webhook, &folder, &[]);
    let balancer = Balancer::start().await?;
    let mut replicas = vec![start().await?, start().await?];
    replicas.iter().for_each(|replica| balancer.add(replica.address()));
    let caller = Arc::new(replicas[0].caller_by(balancer.address())?);
    let calls = Load::open(RATE).start(&[caller], &hook("wait"), &[review()?]);
    let mut under_way = 0;
    for _ in 0..KILLS {
        sleep(Duration::from_secs(1)).await;
        let mut victim = replicas.remove(0);
        // No new connection is on its way there when it dies: what those meet is the balancer's lag.
        balancer.remove(victim.address());
        sleep(Duration::from_millis(20)).await;
        victim.signal("-KILL")?;
        victim.ended(PATIENCE).await?;
        under_way += timeout(PATIENCE, balancer.interrupted(victim.address())).await?;
        let next = start().await?;
        balancer.add(next.address());
        replicas.push(next);
    }
    sleep(Duration::from_secs(1)).await;
    let report = calls.stop().await;
    let broken = report.failed.get(&Failure::Broken).copied().unwrap_or_default();
    let looked = under_way > 0 && report.admitted > 0;
    let held = looked && broken == report.failures() && broken <= under_way as u64;
    let row =
        Row::of("F03", format!("{KILLS} x SIGKILL to one of two replicas, {RATE} calls/s of 100 ms each"));
    let limit = format!("broken connections only, at most the {under_way} on which it had not answered");
    Ok(vec![row.seen(said(&report)).judged(format!("{} failed", report.failures()), limit, held)])
}
