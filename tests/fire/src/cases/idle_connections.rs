//! A04, A05, A06: 5,000 connections without a complete request. A07: handshakes without a request, and handshakes that the client
//! gives up. API servers make calls meanwhile, and must be answered in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use vestibule_caller::Pool;
use webhook_load::Report;

use super::fixture::{
    QUICK, all_admitted, answered_quickly, hook, mebibytes, millis, review, summary, webhook,
};
use super::memory_after_load;
use super::{Lateness, Row};
use crate::rig::{BackgroundLoad, HostileClient, Outcomes, Process, Program, open_many};

const MANY: usize = 5_000;
/// The connections open over this time; at once, the kernel's accept queue would overflow.
const COMING: Duration = Duration::from_secs(5);
const MOST: u64 = 144 << 10;
/// Tolerance beyond the server's timeout, on two processors that also run the clients.
const LATE: Duration = Duration::from_secs(1);
/// The p99 latency limit of calls on connections that are already open.
const KEPT_P99: Duration = Duration::from_millis(50);
/// The timeout of the API servers' calls.
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) async fn slow_heads() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(5) + LATE;
    open_connections(
        "A04",
        HostileClient::SlowHead,
        "connections that send a head a byte a second",
        MANY / 2,
        longest,
    )
    .await
}

pub(super) async fn slow_bodies() -> anyhow::Result<Vec<Row>> {
    // 1 s until connections without a request are evicted, 10 s for the body, and 1 s to read the answer.
    let longest = Duration::from_secs(12) + LATE;
    open_connections(
        "A05",
        HostileClient::SlowBody,
        "connections that send a body a byte a second",
        MANY / 2,
        longest,
    )
    .await
}

pub(super) async fn silent() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(5) + LATE;
    let mut rows =
        open_connections("A06", HostileClient::Silent, "connections that never say a word", MANY, longest)
            .await?;
    rows.extend(resting().await?);
    Ok(rows)
}

/// Connections after a handshake may stay idle, but there are more of them than the connection limit.
async fn resting() -> anyhow::Result<Vec<Row>> {
    /// A new connection gets 3 s for its first request before it may be evicted.
    const LONGEST: Duration = Duration::from_secs(3).saturating_add(LATE);
    let server = webhook(&[]).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let api_servers = ApiServerLoad::start(&server, LONGEST)?;
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();
    let outcomes = open_many(&server, HostileClient::Resting, MANY, COMING, COMING * 3).await?;
    let memory = server.memory()?;
    let api_servers = api_servers.stop().await?;
    let done = format!("{MANY} connections that shake hands and send no request");
    Ok(vec![
        Row::of("A06", done.clone())
            .seen(format!(
                "{} evicted, {} refused, {} open at the end",
                outcomes.ended, outcomes.refused, outcomes.staying
            ))
            .judged(
                format!("{} let in, {}", outcomes.ended + outcomes.staying, mebibytes(memory.peak)),
                format!("{MANY}, {}", mebibytes(MOST)),
                outcomes.ended + outcomes.staying == MANY && outcomes.ended > 0 && memory.peak <= MOST,
            ),
        api_servers.row("A06", &done, LONGEST),
        memory_after_load::compare("A06", &server, before).await?,
    ])
}

/// Opens [`MANY`] connections, twice. At least `let_in` of them must be accepted, and the server must close each within
/// `longest`, which is its own timeout and [`LATE`].
async fn open_connections(
    case: &'static str,
    client: HostileClient,
    what: &str,
    let_in: usize,
    longest: Duration,
) -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let api_servers = ApiServerLoad::start(&server, longest)?;
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();
    let outcomes = open_many(&server, client, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let memory = server.memory()?;
    let api_servers = api_servers.stop().await?;
    let after = memory_after_load::compare(case, &server, before).await?;
    let once = memory_after_load::measure(&server)?;
    open_many(&server, client, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let again = memory_after_load::compare_after_repeat(case, &server, once).await?;

    let done = format!("{MANY} {what}");
    let is_bounded = outcomes.ended >= let_in && outcomes.staying == 0 && memory.peak <= MOST;
    Ok(vec![
        Row::of(case, done.clone())
            .seen(format!(
                "{} closed by the server, {} refused, {} open at the end",
                outcomes.ended, outcomes.refused, outcomes.staying
            ))
            .judged(
                format!(
                    "{} let in, {:.1} s, {}",
                    outcomes.ended,
                    outcomes.longest.as_secs_f64(),
                    mebibytes(memory.peak)
                ),
                format!("{let_in} at least, {} s, {}", longest.as_secs(), mebibytes(MOST)),
                is_bounded && outcomes.longest <= longest,
            )
            .late(is_bounded, [Lateness::each(longest, outcomes.stays)]),
        api_servers.row(case, &done, longest),
        after,
        again,
    ])
}

/// Calls of API servers during the abuse: 50 a second on kept connections, and 5 a second on new connections.
struct ApiServerLoad<T> {
    kept: T,
    fresh: T,
}

impl ApiServerLoad<BackgroundLoad> {
    fn start(server: &Process, longest: Duration) -> anyhow::Result<Self> {
        let none = Pool { idle: 0, ..Pool::default() };
        let fresh_caller = Arc::new(server.caller_by(server.address())?.pool(none));
        Ok(Self {
            kept: BackgroundLoad::start(server.caller()?, 50.0, KEPT_P99, hook("label"), review()?),
            fresh: BackgroundLoad::start(
                fresh_caller,
                5.0,
                longest,
                hook("label").timeout(PATIENCE),
                review()?,
            ),
        })
    }

    async fn stop(self) -> anyhow::Result<ApiServerLoad<Report>> {
        Ok(ApiServerLoad { kept: self.kept.stop().await?, fresh: self.fresh.stop().await? })
    }
}

impl ApiServerLoad<Report> {
    /// A row that requires an answer to every call, and one within `longest` on new connections.
    fn row(&self, case: &'static str, done: &str, longest: Duration) -> Row {
        let Self { kept, fresh } = self;
        let (p99, waited) = (kept.latency.quantile(0.99), fresh.latency.max());
        let failed = kept.failures() + fresh.failures();
        let called = kept.admitted > 0 && fresh.admitted > 0;
        let figure = format!(
            "p99 {}, slowest on a new connection {:.1} s, {failed} failed",
            millis(p99),
            waited.as_secs_f64()
        );
        let limit = format!("p99 {}, {} s, 0 failed", millis(KEPT_P99), longest.as_secs());
        Row::of(case, format!("{done}; 50 calls/s of an API server meanwhile, and 5 over new connections"))
            .seen(format!("{}; {}", summary(kept), summary(fresh)))
            .judged(figure, limit, called && failed == 0 && p99 <= KEPT_P99 && waited <= longest)
            .late(
                called && failed == 0,
                [Lateness::p99(KEPT_P99, kept), Lateness::each(longest, fresh.slow.iter().copied())],
            )
    }
}

pub(super) async fn handshakes() -> anyhow::Result<Vec<Row>> {
    const RATE: usize = 2_000;
    /// With fewer handshakes per second the row proves nothing.
    const LEAST: f64 = 1_000.0;
    let server = webhook(&[]).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let Flood { honest, outcomes, began, ended } = flood(&server, HostileClient::Handshake, RATE).await?;
    let rate = outcomes.ended as f64 / (ended - began).as_secs_f64();
    let done =
        format!("{RATE} handshakes/s without a request for 10 s; 50 calls/s of an API server meanwhile");
    let p99 = millis(honest.latency.quantile(0.99));
    Ok(vec![
        Row::of("A07", done)
            .seen(summary(&honest))
            .judged(
                format!(
                    "p99 {p99}, {} failed; {rate:.0} handshakes/s, {} refused",
                    honest.failures(),
                    outcomes.refused
                ),
                format!("p99 100 ms, 0 failed; {LEAST:.0} handshakes/s at least, 0 refused"),
                answered_quickly(&honest) && outcomes.refused == 0 && rate >= LEAST,
            )
            .late(
                all_admitted(&honest) && outcomes.refused == 0,
                [Lateness::p99(QUICK, &honest), Lateness::rate(began, ended, rate, LEAST)],
            ),
        memory_after_load::compare("A07", &server, before).await?,
        hellos().await?,
    ])
}

/// More handshakes than one processor can answer, on which the webhook then has one thread for all its work.
async fn hellos() -> anyhow::Result<Row> {
    const RATE: usize = 6_000;
    let folder = Arc::new(tempfile::tempdir()?);
    let server = Process::start_on_one_processor(Program::Webhook, &folder, &[]).await?;
    let Flood { honest, outcomes, began, ended } = flood(&server, HostileClient::Hello, RATE).await?;
    let rate = outcomes.ended as f64 / (ended - began).as_secs_f64();
    let done = format!(
        "a webhook on one processor; {RATE} connections/s that send a ClientHello and no more, for 10 s; 50 calls/s of an API \
         server meanwhile"
    );
    Ok(Row::of("A07", done)
        .seen(format!("{}; {rate:.0} hellos/s answered", summary(&honest)))
        .judged(
            format!("p99 {}, {} failed", millis(honest.latency.quantile(0.99)), honest.failures()),
            "p99 100 ms, 0 failed".to_owned(),
            answered_quickly(&honest),
        )
        .late(all_admitted(&honest), [Lateness::p99(QUICK, &honest)]))
}

/// A flood of connections, and the calls of an API server meanwhile.
struct Flood {
    honest: Report,
    outcomes: Outcomes,
    began: Instant,
    ended: Instant,
}

/// Opens `rate` connections a second for 10 s.
async fn flood(server: &Process, client: HostileClient, rate: usize) -> anyhow::Result<Flood> {
    const SECONDS: u64 = 10;
    let honest = BackgroundLoad::start(server.caller()?, 50.0, QUICK, hook("label"), review()?);
    let during = Duration::from_secs(SECONDS);
    let began = Instant::now();
    let outcomes = open_many(server, client, rate * SECONDS as usize, during, during).await?;
    let ended = Instant::now();
    Ok(Flood { honest: honest.stop().await?, outcomes, began, ended })
}
