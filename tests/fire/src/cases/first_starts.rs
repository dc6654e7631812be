//! F14: three replicas start at the same moment on an empty cluster, in several rounds.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::time::sleep;
use vestibule_testenv::Environment;

use super::{Lateness, Row};
use crate::rig::beside;
use crate::{Cluster, Load, Options};

const REPLICAS: usize = 3;
/// The limit beyond `hold_cold`, for the process to start and the probe to succeed.
const MOST: Duration = Duration::from_secs(5);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let rounds = if long { 100 } else { 5 };
    let environment = Environment::start().await?;
    let options = Options::of(&["--replicas=3", "--leaf=30", "--rate=60", "--api-servers=1"])?;
    let (mut slowest, mut calls, mut rings, mut failures) = (Duration::ZERO, 0, 0, Vec::new());
    let (mut fewest, mut starts) = (usize::MAX, Vec::new());
    let hold = options.timing.policy().hold_cold;
    for _ in 0..rounds {
        let cluster = Cluster::prepare(&environment, &beside("replica")?, &options).await?;
        let began = Instant::now();
        let _replicas = try_join_all((0..REPLICAS).map(|_| cluster.start_replica())).await?;
        cluster.service().wait_for_replicas(REPLICAS).await?;
        let took = began.elapsed();
        slowest = slowest.max(took.saturating_sub(hold));
        starts.push((began, took));
        let load = Load::start(cluster.clients()?, cluster.target(), options.rate, cluster.counters());
        sleep(Duration::from_secs(2)).await;
        load.stop().await;
        let counts = cluster.counters().read();
        calls += counts.calls;
        fewest = fewest.min(counts.calls);
        rings += counts.ring_changes.get("created").copied().unwrap_or_default();
        failures.extend(counts.failures.into_keys().chain(counts.handshakes_failed.into_keys()));
    }
    // Half of the calls that are due in the two seconds of a round.
    let least = options.rate as usize;
    let is_whole = failures.is_empty() && rings == rounds && fewest >= least;
    let held = slowest <= MOST && is_whole;
    let row = Row::of("F14", format!("{rounds} x {REPLICAS} replicas start at once on an empty Secret"));
    let row = row.seen(format!(
        "{calls} calls, {fewest} in a round at least, {rings} rings made; {}",
        failures.join("; ")
    ));
    let figure = format!(
        "all ready {:.1} s after the hold, {rings} rings, {} failures",
        slowest.as_secs_f64(),
        failures.len()
    );
    Ok(vec![
        row.judged(
            figure,
            format!("{} s, {rounds} rings, 0 failures of {least} calls a round", MOST.as_secs()),
            held,
        )
        .late(is_whole, [Lateness::each(MOST + hold, starts)]),
    ])
}
