//! A04, A05, A06: thousands of connections that only cost. A07: strangers who shake hands and leave.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use vestibule_caller::Pool;
use vestibule_caller::load::Report;

use super::ground::{QUICK, answered, hook, is_admitted, mebibytes, millis, review, said, webhook};
use super::quiet;
use super::{Lateness, Row};
use crate::rig::{Bystander, Process, Stranger, come};

const MANY: usize = 5_000;
/// They do not all come at the same moment, or the kernel would turn them away.
const COMING: Duration = Duration::from_secs(5);
const MOST: u64 = 144 << 10;
/// After the server's limit, on two processors that serve all of them and this rig.
const LATE: Duration = Duration::from_secs(1);
/// How long one in a hundred calls may take of those who have their connections.
const AT_HOME: Duration = Duration::from_millis(50);
/// Of those who count, whatever becomes of them.
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) async fn slow_heads() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(5) + LATE;
    crowd("A04", Stranger::SlowHead, "connections that send a head a byte a second", MANY / 2, longest).await
}

pub(super) async fn slow_bodies() -> anyhow::Result<Vec<Row>> {
    // A second until others have lost their room, ten for the body, and one to read the answer in.
    let longest = Duration::from_secs(12) + LATE;
    crowd("A05", Stranger::SlowBody, "connections that send a body a byte a second", MANY / 2, longest).await
}

pub(super) async fn silent() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(5) + LATE;
    let mut rows = crowd("A06", Stranger::Silent, "connections that never say a word", MANY, longest).await?;
    rows.extend(resting().await?);
    Ok(rows)
}

/// They may rest for as long as API servers may, and there are more of them than places.
async fn resting() -> anyhow::Result<Vec<Row>> {
    /// As long as they have to ask, before they make room.
    const LONGEST: Duration = Duration::from_secs(3).saturating_add(LATE);
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
    let others = Others::start(&server, LONGEST)?;
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();
    let left = come(&server, Stranger::Resting, MANY, COMING, COMING * 3).await?;
    let memory = server.memory()?;
    let others = others.stop().await?;
    let done = format!("{MANY} connections that shake hands and ask nothing");
    Ok(vec![
        Row::of("A06", done.clone())
            .seen(format!(
                "{} made room, {} refused, {} stay until they leave",
                left.ended, left.refused, left.staying
            ))
            .judged(
                format!("{} let in, {}", left.ended + left.staying, mebibytes(memory.peak)),
                format!("{MANY}, {}", mebibytes(MOST)),
                left.ended + left.staying == MANY && left.ended > 0 && memory.peak <= MOST,
            ),
        others.row("A06", &done, LONGEST),
        quiet::after("A06", &server, before).await?,
    ])
}

/// `let_in` of them at least: whoever the server turns away at once has cost nothing. Each ends within `longest`, which is
/// the server's own limit and [`LATE`].
async fn crowd(
    case: &'static str,
    stranger: Stranger,
    what: &str,
    let_in: usize,
    longest: Duration,
) -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
    let others = Others::start(&server, longest)?;
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();
    let left = come(&server, stranger, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let memory = server.memory()?;
    let others = others.stop().await?;
    let after = quiet::after(case, &server, before).await?;
    let once = quiet::now(&server)?;
    come(&server, stranger, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let again = quiet::again(case, &server, once).await?;

    let done = format!("{MANY} {what}");
    let is_bounded = left.ended >= let_in && left.staying == 0 && memory.peak <= MOST;
    Ok(vec![
        Row::of(case, done.clone())
            .seen(format!(
                "{} ended by the server, {} refused, {} stay",
                left.ended, left.refused, left.staying
            ))
            .judged(
                format!(
                    "{} let in, {:.1} s, {}",
                    left.ended,
                    left.longest.as_secs_f64(),
                    mebibytes(memory.peak)
                ),
                format!("{let_in} at least, {} s, {}", longest.as_secs(), mebibytes(MOST)),
                is_bounded && left.longest <= longest,
            )
            .late(is_bounded, [Lateness::each(longest, left.stays)]),
        others.row(case, &done, longest),
        after,
        again,
    ])
}

/// API servers meanwhile: some with connections of their own, and one that opens a new one for each call.
struct Others<T> {
    at_home: T,
    newcomers: T,
}

impl Others<Bystander> {
    fn start(server: &Process, longest: Duration) -> anyhow::Result<Self> {
        let none = Pool { idle: 0, ..Pool::default() };
        let newcomer = Arc::new(server.caller_by(server.address())?.pool(none));
        Ok(Self {
            at_home: Bystander::start(server.caller()?, 50.0, AT_HOME, hook("label"), review()?),
            newcomers: Bystander::start(newcomer, 5.0, longest, hook("label").timeout(PATIENCE), review()?),
        })
    }

    async fn stop(self) -> anyhow::Result<Others<Report>> {
        Ok(Others { at_home: self.at_home.stop().await?, newcomers: self.newcomers.stop().await? })
    }
}

impl Others<Report> {
    /// Whether they were answered, those who had to get in first within `longest`.
    fn row(&self, case: &'static str, done: &str, longest: Duration) -> Row {
        let Self { at_home, newcomers } = self;
        let (p99, waited) = (at_home.latency.quantile(0.99), newcomers.latency.max());
        let failed = at_home.failures() + newcomers.failures();
        let called = at_home.admitted > 0 && newcomers.admitted > 0;
        let figure = format!(
            "p99 {}, a newcomer's longest {:.1} s, {failed} failed",
            millis(p99),
            waited.as_secs_f64()
        );
        let limit = format!("p99 {}, {} s, 0 failed", millis(AT_HOME), longest.as_secs());
        Row::of(case, format!("{done}; 50 calls/s of an API server meanwhile, and 5 over new connections"))
            .seen(format!("{}; {}", said(at_home), said(newcomers)))
            .judged(figure, limit, called && failed == 0 && p99 <= AT_HOME && waited <= longest)
            .late(
                called && failed == 0,
                [Lateness::p99(AT_HOME, at_home), Lateness::each(longest, newcomers.slow.iter().copied())],
            )
    }
}

pub(super) async fn handshakes() -> anyhow::Result<Vec<Row>> {
    const SECONDS: u64 = 10;
    const RATE: usize = 2_000;
    /// With fewer, nothing was shown.
    const LEAST: f64 = 1_000.0;
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
    let honest = Bystander::start(server.caller()?, 50.0, QUICK, hook("label"), review()?);
    let during = Duration::from_secs(SECONDS);
    let began = std::time::Instant::now();
    let left = come(&server, Stranger::Handshake, RATE * SECONDS as usize, during, during).await?;
    let ended = std::time::Instant::now();
    let rate = left.ended as f64 / (ended - began).as_secs_f64();
    let honest = honest.stop().await?;
    let p99 = honest.latency.quantile(0.99);
    let done =
        format!("{RATE} handshakes/s of strangers for {SECONDS} s; 50 calls/s of an API server meanwhile");
    Ok(vec![
        Row::of("A07", done)
            .seen(said(&honest))
            .judged(
                format!(
                    "p99 {}, {} failed; {rate:.0} handshakes/s, {} refused",
                    millis(p99),
                    honest.failures(),
                    left.refused
                ),
                format!("p99 100 ms, 0 failed; {LEAST:.0} handshakes/s at least, 0 refused"),
                answered(&honest) && left.refused == 0 && rate >= LEAST,
            )
            .late(
                is_admitted(&honest) && left.refused == 0,
                [Lateness::p99(QUICK, &honest), Lateness::rate(began, ended, rate, LEAST)],
            ),
        quiet::after("A07", &server, before).await?,
    ])
}
