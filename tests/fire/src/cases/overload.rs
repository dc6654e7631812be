//! F09: more calls than there is time for. Those that are let in are answered as quickly as ever, and the others are told
//! at once. Without a bound on those who wait, everybody waits until it is too late: the control.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vestibule_caller::Caller;
use vestibule_caller::load::{Failure, Load, Report};

use super::ground::{hook, mebibytes, millis, review, said, turned_away, webhook};
use super::{Lateness, Row};
use crate::rig::Process;

/// One handler computes at a time, as on one processor; the other one is for everything else, this rig included.
const BOUND: &[&str] = &["--max-computing", "1", "--max-waiting", "48"];
const QUEUE: u32 = 48;
/// The same bound, said as a time.
const BUDGET: &[&str] = &["--max-computing", "1", "--latency-budget", "48ms"];
const UNBOUND: &[&str] = &[
    "--max-computing",
    "1",
    "--max-waiting",
    "1000000",
    "--max-running",
    "1000000",
    "--latency-budget",
    "1h",
];
/// So many times as long as the bound allows, and it is useless.
const COLLAPSE: u32 = 10;
/// What one call costs: a handler's turn, and hardly any processor time, of which this rig needs nearly all there is.
const SERVICE: Duration = Duration::from_millis(1);
/// Each keeps no more than 25 connections at rest. With a few of them, calls that are late for a moment open new ones, and the
/// handshakes make others late: on two processors that is what would be measured.
const API_SERVERS: usize = 8;
/// How many connections they keep, which are opened before it counts: on two processors the handshakes of 200 at once make
/// calls late, this rig's own first of all, and of twelve seconds' admitted calls one in a hundred is what comes within the tenth of a
/// second that they take.
const CONNECTIONS: usize = 25 * API_SERVERS;
const OPENING: Duration = Duration::from_secs(2);
/// So much of the capacity has to be left, in hundredths.
const ENOUGH: f64 = 95.0;
/// More than what those hold who may wait, and their connections.
const FLAT: u64 = 16 << 10;
/// As impatient as users are: what takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn run(long: bool) -> anyhow::Result<Vec<Row>> {
    let during = Duration::from_secs(if long { 60 } else { 12 });
    let (bounded, capacity) = measured(BOUND).await?;
    let mut rows = Vec::new();
    for times in [2, 4] {
        rows.push(offered(&bounded, capacity, times, during, Some("48 may wait")).await?);
    }
    drop(bounded);
    let (bounded, capacity) = measured(BUDGET).await?;
    let waits = "as many may wait as get done in 48 ms";
    rows.push(offered(&bounded, capacity, 4, during, Some(waits)).await?);
    drop(bounded);
    let (unbounded, capacity) = measured(UNBOUND).await?;
    rows.push(offered(&unbounded, capacity, 2, Duration::from_secs(12), None).await?);
    rows.push(patient(during).await?);
    Ok(rows)
}

/// A server, and how many calls a second it can answer: always one that runs and most that may wait.
async fn measured(flags: &[&str]) -> anyhow::Result<(Process, f64)> {
    let server = webhook(flags).await?;
    let callers = callers(&server)?;
    let load = Load::closed(40).during(Duration::from_secs(4));
    let report = load.run(&callers, &hook("work").timeout(TIMEOUT), &[review()?]).await;
    Ok((server, report.goodput()))
}

/// API servers that take the first answer: what is called is what is offered.
fn callers(server: &Process) -> anyhow::Result<Vec<Arc<Caller>>> {
    (0..API_SERVERS).map(|_| Ok(Arc::new(server.caller_by(server.address())?.retries(0)))).collect()
}

async fn offered(
    server: &Process,
    capacity: f64,
    times: u32,
    during: Duration,
    bound: Option<&str>,
) -> anyhow::Result<Row> {
    server.forget_peak();
    let before = server.memory()?;
    let (callers, hook, review) = (callers(server)?, hook("work").timeout(TIMEOUT), [review()?]);
    let load = Load::open(capacity * f64::from(times));
    let opening = Load::closed(CONNECTIONS).during(OPENING).run(&callers, &hook, &review).await;
    let longest = (SERVICE * QUEUE).mul_f64(1.5);
    let began = Instant::now();
    let report = load.during(during).noting(longest).run(&callers, &hook, &review).await;
    let ended = Instant::now();
    let peak = server.memory()?.peak;
    let goodput = report.admitted as f64 / during.as_secs_f64() / capacity * 100.0;
    let p99 = report.latency.quantile(0.99);
    let lost = lost(&opening) + lost(&report);
    let (is_quick, is_flat) = (p99 <= longest, peak <= before.resident + FLAT);

    let queue = bound.unwrap_or("the control: as many as come may wait");
    let done = format!(
        "{times} x the capacity of {capacity:.0}/s, handlers hold their turn for 1 ms, {} s; {queue}",
        during.as_secs()
    );
    let (least, most) = (mebibytes(before.resident), mebibytes(peak));
    let seen = format!("{}, from {least} to {most}", told(&report));
    let figure = format!("{goodput:.1} % of capacity, p99 {}, {lost} lost", millis(p99));
    let limit = format!("{ENOUGH} %, {}, 0 lost, {} more", millis(longest), mebibytes(FLAT));
    let row = Row::of("F09", done).seen(seen);
    Ok(if bound.is_some() {
        let held = goodput >= ENOUGH && is_quick && lost == 0 && is_flat;
        let late = [Lateness::p99(longest, &report), Lateness::rate(began, ended, goodput, ENOUGH)];
        row.judged(figure, limit, held).late(lost == 0 && is_flat, late)
    } else {
        let collapse = longest * COLLAPSE;
        let limit = format!("p99 above {}, more than {} more", millis(collapse), mebibytes(FLAT));
        row.judged(figure, limit, p99 > collapse && !is_flat)
    })
}

/// API servers that come again as often as they are asked to, as kube-apiserver does.
async fn patient(during: Duration) -> anyhow::Result<Row> {
    /// Of handlers that compute for 10 ms. All who come again each second are 4,800 requests, and what they and the handlers
    /// want is more than two processors.
    const CAPACITY: f64 = 100.0;
    const MOST: u64 = 128 << 10;
    /// The hook's timeout, and two seconds for the tenth time to be told.
    const TIMEOUT: Duration = Duration::from_secs(12);
    let server = webhook(BOUND).await?;
    let callers = [server.caller()?, server.caller()?, server.caller()?];
    let load = Load::open(4.0 * CAPACITY).during(during);
    let began = Instant::now();
    let report = load.run(&callers, &hook("toil").timeout(TIMEOUT), &[review()?]).await;
    let peak = server.memory()?.peak;
    let other = lost(&report);
    let held = other == 0 && report.admitted > 0 && peak <= MOST;
    let done = format!(
        "4 x the capacity of {CAPACITY}/s for {} s, handlers compute for 10 ms, callers come again as `Retry-After` says",
        during.as_secs()
    );
    // Whoever comes while more than a thousand shake hands makes another go, who has called for nothing.
    let given_up = server.metric("vestibule_connections_closed_total{reason=\"slow_handshake\"}").await?;
    let seen = format!(
        "{}, {} sent again, {given_up} handshakes given up, {} at most",
        told(&report),
        report.retried,
        mebibytes(peak)
    );
    let figure = format!("{other} failed by anything but 429, {}", mebibytes(peak));
    let is_starved = |failure: &Failure| {
        use Failure::{Broken, Connect, Deadline, Handshake, Status, Unsent};
        matches!(failure, Status(429) | Connect | Handshake | Broken | Deadline | Unsent)
    };
    let holds_otherwise = report.admitted > 0 && peak <= MOST && report.failed.keys().all(is_starved);
    let row = Row::of("F09", done).seen(seen).judged(figure, format!("0, {}", mebibytes(MOST)), held);
    // Afterwards there are fewer and fewer who come again.
    Ok(row.wants_processors(holds_otherwise, began, began + during))
}

/// What failed, and was not turned away.
fn lost(report: &Report) -> u64 {
    report.failures() - turned_away(report)
}

/// With how late this client was: where that is much, it is the client that was measured.
fn told(report: &Report) -> String {
    format!("{}, calls sent {} late at p99", said(report), millis(report.late.quantile(0.99)))
}
