//! F01: replicas are replaced under load, and no call may be lost. The control row uses hyper's own graceful shutdown,
//! which loses some: this shows that the rig detects lost calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use webhook_load::{Load, Report};

use super::Row;
use super::fixture::{hook, reached_rate, review, summary};
use crate::rig::{Balancer, Process, Program};

const CALLERS: usize = 3;
const RATE: f64 = 500.0;
const REPLICAS: usize = 2;
/// Milliseconds from the signal to the removal of the endpoint, in turn.
const LAGS: [u64; 5] = [0, 300, 700, 1_100, 1_500];
/// The drain delay exceeds every lag.
const FLAGS: &[&str] = &["--drain-delay", "3s"];
/// An API server's idle connections end after 90 s, and a drain with them.
const PATIENCE: Duration = Duration::from_secs(110);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let rounds = if long { 100 } else { 10 };
    let row = |what: &str, rounds| {
        let done =
            format!("{rounds} roll-outs of {REPLICAS} replicas under {RATE} calls/s of {CALLERS} callers");
        Row::of("F01", format!("{done}; {what}"))
    };
    let ours = roll_out(Program::Webhook, rounds).await?;
    let failed = ours.report.failures();
    let held = failed == 0 && reached_rate(&ours.report, RATE) && ours.ended_badly == 0;
    let row_of_ours = row("endpoints go 0 to 1.5 s after SIGTERM", rounds).seen(&ours);
    let row_of_ours = row_of_ours.judged(format!("{failed} failed"), "0 failed", held);

    let baseline = roll_out(Program::Baseline, 10).await?;
    let failed = baseline.report.failures();
    let control = row("hyper's `graceful_shutdown`, endpoints go before SIGTERM", 10).seen(&baseline);
    Ok(vec![row_of_ours, control.judged(format!("{failed} failed"), "the control: above 0", failed > 0)])
}

struct RolledOut {
    report: Report,
    ended_badly: usize,
}

impl fmt::Display for RolledOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, ended_badly } = self;
        write!(f, "{}, {} connections, {} s", summary(report), report.connections, report.took.as_secs())?;
        match ended_badly {
            0 => Ok(()),
            some => write!(f, ", {some} processes ended badly"),
        }
    }
}

async fn roll_out(program: Program, rounds: usize) -> anyhow::Result<RolledOut> {
    let folder = Arc::new(tempfile::tempdir()?);
    let flags = if program == Program::Webhook { FLAGS } else { &[] };
    let start = || Process::start(program, &folder, flags);
    let balancer = Arc::new(Balancer::start().await?);
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        let replica = start().await?;
        balancer.add(replica.address());
        replicas.push(replica);
    }
    let callers = (0..CALLERS).map(|_| Ok(Arc::new(replicas[0].caller_by(balancer.address())?)));
    let callers = callers.collect::<anyhow::Result<Vec<_>>>()?;
    let calls = Load::open(RATE).start(&callers, &hook("wait"), &[review()?]);

    let mut leaving = JoinSet::new();
    for (turn, lag) in (0..rounds * REPLICAS).zip(LAGS.iter().cycle()) {
        let next = start().await?;
        balancer.add(next.address());
        // The new replica gets its first calls while the old one still gets calls.
        sleep(Duration::from_millis(300)).await;
        let old = std::mem::replace(&mut replicas[turn % REPLICAS], next);
        let lag = Duration::from_millis(*lag);
        leaving.spawn(leave(old, program, lag, Arc::clone(&balancer)));
        sleep(lag + Duration::from_millis(200)).await;
    }
    // The last replica also leaves under load.
    sleep(Duration::from_secs(4)).await;
    let report = calls.stop().await;
    drop(callers);
    let ended_badly = leaving.join_all().await.iter().filter(|ended| !matches!(ended, Ok(true))).count();
    Ok(RolledOut { report, ended_badly })
}

/// Whether the process exits with success. The baseline's endpoint is removed before its SIGTERM, which no cluster
/// guarantees, so that no new connection is refused.
async fn leave(
    mut old: Process,
    program: Program,
    lag: Duration,
    balancer: Arc<Balancer>,
) -> anyhow::Result<bool> {
    let address = old.address();
    match program {
        Program::Webhook => {
            old.signal("-TERM")?;
            sleep(lag).await;
            balancer.remove(address);
        }
        Program::Baseline => {
            balancer.remove(address);
            sleep(lag).await;
            old.signal("-TERM")?;
        }
    }
    Ok(old.ended(PATIENCE).await?.success())
}
