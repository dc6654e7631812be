//! F01: replicas are replaced while they are called, and no call may be lost. The same on hyper's own shutdown loses
//! some: the rig is able to see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;
use vestibule_caller::{Hook, Review};

use super::Row;
use super::ground::pod;
use crate::rig::{Balancer, Calls, Pace, Process, Program, Tally};

const CALLERS: usize = 3;
/// 500 calls a second together, on all 25 connections of each pool.
const PACE: Pace = Pace { burst: 25, period: Duration::from_millis(150) };
const REPLICAS: usize = 2;
/// How much later than the signal a balancer learns of it: not the same each time.
const LAGS: [u64; 5] = [0, 300, 700, 1_100, 1_500];
/// Longer than any lag.
const FLAGS: &[&str] = &["--drain-delay", "3s"];
/// An API server's idle connections end after 90 s, and a drain with them.
const PATIENCE: Duration = Duration::from_secs(110);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let rounds = if long { 100 } else { 10 };
    let done = |what: &str, rounds| {
        format!(
            "{rounds} roll-outs of {REPLICAS} replicas, {what}, {CALLERS} callers x 25 connections, 500 calls/s"
        )
    };
    let ours = roll_out(Program::Webhook, rounds).await?;
    let row = Row::of("F01", done("endpoints gone 0 to 1.5 s after SIGTERM", rounds)).seen(&ours);
    let failed = ours.tally.failures() + ours.tally.turned_away;
    let ours = row.judged(format!("{failed} failed"), "0 failed", failed == 0 && ours.cut_off == 0);

    let baseline = roll_out(Program::Baseline, 10).await?;
    let row = Row::of("F01", done("hyper's `graceful_shutdown`, endpoints gone before SIGTERM", 10));
    let failed = baseline.tally.failures();
    let row = row.seen(&baseline).judged(format!("{failed} failed"), "the control: more than 0", failed > 0);
    Ok(vec![ours, row])
}

struct RolledOut {
    tally: Tally,
    took: Duration,
    /// Processes that did not end well.
    cut_off: usize,
}

impl std::fmt::Display for RolledOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let p99 = self.tally.quantile(0.99).as_millis();
        write!(f, "{} in {} s, p99 {p99} ms", self.tally, self.took.as_secs())?;
        if self.cut_off > 0 {
            write!(f, ", {} processes did not end well", self.cut_off)?;
        }
        Ok(())
    }
}

async fn roll_out(program: Program, rounds: usize) -> anyhow::Result<RolledOut> {
    let folder = tempfile::tempdir()?;
    let flags = if program == Program::Webhook { FLAGS } else { &[] };
    let start = || Process::start(program, folder.path(), flags, &[]);
    let balancer = Arc::new(Balancer::start().await?);
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        let replica = start().await?;
        balancer.add(replica.address());
        replicas.push(replica);
    }
    let callers = (0..CALLERS).map(|_| replicas[0].caller_by(balancer.address()));
    let callers = callers.collect::<anyhow::Result<Vec<_>>>()?;
    let review = Review::create(pod()).build()?;
    let began = Instant::now();
    let calls = Calls::start(callers, &review, &Hook::mutating("wait", "/mutate/wait"), PACE);

    let mut leaving = JoinSet::new();
    for (round, lag) in (0..rounds * REPLICAS).zip(LAGS.iter().cycle()) {
        let next = start().await?;
        balancer.add(next.address());
        let old = std::mem::replace(&mut replicas[round % REPLICAS], next);
        // What was connected to the old ones goes on being used: a new one gets its first calls meanwhile.
        sleep(Duration::from_millis(300)).await;
        leaving.spawn(leave(old, program, Duration::from_millis(*lag), Arc::clone(&balancer)));
        sleep(Duration::from_millis(*lag + 200)).await;
    }
    // The last ones leave under load too.
    sleep(Duration::from_secs(4)).await;
    let tally = calls.stop().await;
    let took = began.elapsed();
    let ends = leaving.join_all().await;
    let cut_off = ends.iter().filter(|well| !matches!(well, Ok(true))).count();
    Ok(RolledOut { tally, took, cut_off })
}

/// A server on hyper alone is treated with more care than it gets in a cluster: its endpoint is gone before it hears that
/// it is to end, so that no new connection is refused.
async fn leave(
    mut old: Process,
    program: Program,
    lag: Duration,
    endpoints: Arc<Balancer>,
) -> anyhow::Result<bool> {
    let address = old.address();
    match program {
        Program::Webhook => {
            old.signal("-TERM")?;
            sleep(lag).await;
            endpoints.remove(address);
        }
        Program::Baseline => {
            endpoints.remove(address);
            sleep(lag).await;
            old.signal("-TERM")?;
        }
    }
    Ok(old.ended(PATIENCE).await?.success())
}
