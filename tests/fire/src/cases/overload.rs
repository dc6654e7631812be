//! F09: more calls than the webhook can compute. Admitted calls keep a low latency, and the others get 429 at once. The
//! control row has no queue bound, and its calls wait for seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vestibule_caller::Caller;
use webhook_load::{Failure, Load, Report};

use super::fixture::{hook, mebibytes, millis, rejected, review, summary, webhook};
use super::{Lateness, Row};
use crate::rig::Process;

/// One handler computes at a time; the second processor is left to TLS and the clients.
const BOUND: &[&str] = &["--max-computing", "1", "--max-waiting", "48"];
const QUEUE: u32 = 48;
/// The same bound as a time.
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
/// The control row has to exceed the latency limit by this factor.
const COLLAPSE: u32 = 10;
/// A handler holds its CPU permit for this long. It mostly sleeps, because the clients need nearly all CPU time.
const SERVICE: Duration = Duration::from_millis(1);
/// Each API server keeps up to 25 idle connections. With fewer API servers, late calls would open new connections, and
/// on two processors their handshakes would delay other calls.
const API_SERVERS: usize = 8;
/// All connections are opened before the measurement. 200 handshakes at once take 0.1 s on two processors, and the calls
/// of that time are one in a hundred of the admitted calls of 12 s.
const CONNECTIONS: usize = 25 * API_SERVERS;
const OPENING: Duration = Duration::from_secs(2);
/// The required goodput in percent of the capacity.
const ENOUGH: f64 = 95.0;
/// The limit of memory growth in KiB; waiting calls and their connections need less.
const FLAT: u64 = 16 << 10;
/// A call that takes longer has failed.
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

/// Starts a server and measures its capacity in calls per second, with 40 calls in flight.
async fn measured(flags: &[&str]) -> anyhow::Result<(Process, f64)> {
    let server = webhook(flags).await?;
    let callers = callers(&server)?;
    let load = Load::closed(40).during(Duration::from_secs(4));
    let report = load.run(&callers, &hook("work").timeout(TIMEOUT), &[review()?]).await;
    Ok((server, report.goodput()))
}

/// API servers without retries, so that the offered rate is the rate of requests.
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
    let seen = format!("{}, from {least} to {most}", summary_with_lateness(&report));
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

/// API servers that retry after `Retry-After`, as kube-apiserver does.
async fn patient(during: Duration) -> anyhow::Result<Row> {
    /// Calls per second of handlers that compute for 10 ms. With retries the rate reaches 4,800 requests per second, which
    /// needs more than two processors.
    const CAPACITY: f64 = 100.0;
    const MOST: u64 = 128 << 10;
    /// The hook's timeout of 10 s, and 2 s for the last retry.
    const TIMEOUT: Duration = Duration::from_secs(12);
    let server = webhook(BOUND).await?;
    let callers = [server.caller()?, server.caller()?, server.caller()?];
    let load = Load::open(4.0 * CAPACITY).during(during);
    let began = Instant::now();
    let report = load.run(&callers, &hook("compute").timeout(TIMEOUT), &[review()?]).await;
    let peak = server.memory()?.peak;
    let other = lost(&report);
    let held = other == 0 && report.admitted > 0 && peak <= MOST;
    let done = format!(
        "4 x the capacity of {CAPACITY}/s for {} s, handlers compute for 10 ms, callers come again as `Retry-After` says",
        during.as_secs()
    );
    // With more than 1,000 pending handshakes, a new connection evicts an older one, and the call on it is lost.
    let given_up = server.metric("vestibule_connections_closed_total{reason=\"slow_handshake\"}").await?;
    let seen = format!(
        "{}, {} sent again, {given_up} handshakes given up, {} at most",
        summary_with_lateness(&report),
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
    // After the load, the rate of retries falls.
    Ok(row.needs_processors(holds_otherwise, began, began + during))
}

/// Failures other than 429.
fn lost(report: &Report) -> u64 {
    report.failures() - rejected(report)
}

/// The report in one line with the client's own lateness. A high value means that the client was too slow.
fn summary_with_lateness(report: &Report) -> String {
    format!("{}, calls sent {} late at p99", summary(report), millis(report.late.quantile(0.99)))
}
