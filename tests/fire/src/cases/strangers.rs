//! A04, A05, A06: thousands of connections that only cost. A07: strangers who shake hands and leave.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use vestibule_caller::Pool;

use super::Row;
use super::ground::{answered, hook, mebibytes, millis, review, said, webhook};
use super::quiet;
use crate::rig::{Bystander, Stranger, come};

const MANY: usize = 5_000;
/// They do not all come at the same moment, or the kernel would turn them away.
const COMING: Duration = Duration::from_secs(5);
const MOST: u64 = 192 << 10;
/// Of those who count, whatever becomes of them.
const PATIENCE: Duration = Duration::from_secs(25);

pub(super) async fn slow_heads() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(10);
    crowd("A04", Stranger::SlowHead, "connections that send a head a byte a second", MANY / 2, longest).await
}

pub(super) async fn slow_bodies() -> anyhow::Result<Vec<Row>> {
    let longest = Duration::from_secs(20);
    crowd("A05", Stranger::SlowBody, "connections that send a body a byte a second", MANY / 2, longest).await
}

pub(super) async fn silent() -> anyhow::Result<Vec<Row>> {
    crowd("A06", Stranger::Silent, "connections that never say a word", MANY, Duration::from_secs(10)).await
}

/// `let_in` of them at least: whoever the server turns away at once has cost nothing. Each ends within `longest`, which is twice
/// the server's own limit: with more connections than it holds, some wait for others to end.
async fn crowd(
    case: &'static str,
    stranger: Stranger,
    what: &str,
    let_in: usize,
    longest: Duration,
) -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
    // API servers with connections of their own, and one that opens a new one for each call.
    let honest = Bystander::start(server.caller()?, 50.0, hook("label"), review()?);
    let none = Pool { idle: 0, ..Pool::default() };
    let newcomer = Arc::new(server.caller_by(server.address())?.pool(none));
    let newcomers = Bystander::start(newcomer, 5.0, hook("label").timeout(PATIENCE), review()?);
    sleep(Duration::from_secs(1)).await;
    server.forget_peak();
    let left = come(&server, stranger, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let memory = server.memory()?;
    let (honest, newcomers) = (honest.stop().await?, newcomers.stop().await?);
    let after = quiet::after(case, &server, before).await?;
    let once = quiet::now(&server)?;
    come(&server, stranger, MANY, COMING, PATIENCE + Duration::from_secs(20)).await?;
    let again = quiet::again(case, &server, once).await?;

    let p99 = honest.latency.quantile(0.99);
    let waited = newcomers.latency.max();
    let done = format!("{MANY} {what}");
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
                left.ended >= let_in && left.staying == 0 && left.longest <= longest && memory.peak <= MOST,
            ),
        Row::of(case, format!("{done}; 50 calls/s of an API server meanwhile"))
            .seen(format!(
                "{}; a new connection waited {:.1} s at most, {} failed",
                said(&honest),
                waited.as_secs_f64(),
                newcomers.failures()
            ))
            .judged(
                format!("p99 {}, {} failed", millis(p99), honest.failures()),
                "p99 50 ms, 0 failed",
                answered(&honest) && p99 <= Duration::from_millis(50),
            ),
        after,
        again,
    ])
}

pub(super) async fn handshakes() -> anyhow::Result<Vec<Row>> {
    const SECONDS: u64 = 10;
    const RATE: usize = 2_000;
    /// With fewer, nothing was shown.
    const LEAST: f64 = 1_000.0;
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
    let honest = Bystander::start(server.caller()?, 50.0, hook("label"), review()?);
    let during = Duration::from_secs(SECONDS);
    let began = std::time::Instant::now();
    let left = come(&server, Stranger::Handshake, RATE * SECONDS as usize, during, during).await?;
    let rate = left.ended as f64 / began.elapsed().as_secs_f64();
    let honest = honest.stop().await?;
    let p99 = honest.latency.quantile(0.99);
    let done =
        format!("{RATE} handshakes/s of strangers for {SECONDS} s; 50 calls/s of an API server meanwhile");
    Ok(vec![
        Row::of("A07", done).seen(said(&honest)).judged(
            format!(
                "p99 {}, {} failed; {rate:.0} handshakes/s, {} refused",
                millis(p99),
                honest.failures(),
                left.refused
            ),
            format!("p99 100 ms, 0 failed; {LEAST:.0} handshakes/s at least, 0 refused"),
            answered(&honest) && left.refused == 0 && rate >= LEAST,
        ),
        quiet::after("A07", &server, before).await?,
    ])
}
