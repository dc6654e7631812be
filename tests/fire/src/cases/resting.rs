//! F02 and F04: idle connections, in real time. kube-apiserver reuses a connection for up to 90 s; a server that closes
//! it earlier fails a call that is being sent on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;
use vestibule_caller::{Caller, Pool};

use super::Row;
use super::fixture::{hook, review, webhook};
use crate::rig::Process;

/// Seconds of idleness, around common idle timeouts. The last is 1 s below the server's own timeout.
const RESTS: [f64; 8] = [29.9, 30.0, 30.1, 59.9, 60.1, 89.9, 90.1, 119.0];
const RESTING: usize = 25;
/// The seed of the random idle times.
const SEED: u64 = 2;
/// The idle timeout of kube-apiserver.
const LONGEST: Duration = Duration::from_secs(90);
const DRAIN: Duration = Duration::from_secs(95);

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let (draining, resting) = tokio::join!(draining(), resting());
    Ok(vec![draining?, resting?])
}

async fn draining() -> anyhow::Result<Row> {
    let mut server = webhook(&[]).await?;
    let callers = (0..RESTING).map(|_| connected(&server));
    let callers = futures_util::future::try_join_all(callers).await?;
    server.signal("-TERM")?;
    let began = Instant::now();
    let mut calls = JoinSet::new();
    let mut random = fastrand::Rng::with_seed(SEED);
    for (number, caller) in callers.into_iter().enumerate() {
        // The first connection is used just before the client would close it.
        let part = if number == 0 { 1.0 } else { random.f64() };
        let rest = (LONGEST - Duration::from_secs(2)).mul_f64(part);
        calls.spawn(async move { is_answered_again(&caller, rest).await });
    }
    let answered = calls.join_all().await.into_iter().filter(|answered| *answered).count();
    let ended = server.ended(DRAIN.saturating_sub(began.elapsed()) + Duration::from_secs(5)).await?;
    let took = began.elapsed();
    let lost = RESTING - answered;
    let row = Row::of(
        "F02",
        format!(
            "SIGTERM, and {RESTING} resting connections, each used once more at a random time within 90 s"
        ),
    );
    let row = row.seen(format!("{answered} answered on the connection that they had, {ended}"));
    let figure = format!("{lost} lost, ended after {:.1} s", took.as_secs_f64());
    Ok(row.judged(figure, "0 lost, 95 s", lost == 0 && ended.success() && took <= DRAIN))
}

async fn resting() -> anyhow::Result<Row> {
    let server = webhook(&[]).await?;
    let mut calls = JoinSet::new();
    for rest in RESTS {
        let caller = connected(&server).await?;
        calls.spawn(async move { is_answered_again(&caller, Duration::from_secs_f64(rest)).await });
    }
    let lost = calls.join_all().await.into_iter().filter(|answered| !*answered).count();
    let row = Row::of("F04", format!("connections that are used again after {RESTS:?} s"));
    let row = row.seen(format!("{} answered on the connection that they had", RESTS.len() - lost));
    Ok(row.judged(format!("{lost} lost"), "0 lost", lost == 0))
}

/// A caller with one open connection, on which one call was answered.
async fn connected(server: &Process) -> anyhow::Result<Arc<Caller>> {
    let patient = Pool { idle_time: Duration::from_secs(600), ..Pool::default() };
    let caller = server.caller_by(server.address())?.pool(patient);
    caller.call(&review()?, &hook("label")).await?;
    Ok(Arc::new(caller))
}

/// Whether a call after `rest` is answered on the same connection.
async fn is_answered_again(caller: &Caller, rest: Duration) -> bool {
    sleep(rest).await;
    let Ok(review) = review() else { return false };
    let answer = caller.call(&review, &hook("label")).await;
    answer.is_ok_and(|answer| answer.status == 200) && caller.opened() == 1
}
