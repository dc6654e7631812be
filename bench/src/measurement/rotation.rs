//! S7: certificates are replaced while calls are made.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::certificates::Key;
use crate::connection::{Target, request};
use crate::figure::{P99, Row};
use crate::load::histogram;
use crate::run::Bench;
use bench::review::{Review, SMALL};

/// The time between two certificates.
const EVERY: Duration = Duration::from_millis(100);
/// Connections that stay open.
const CONNECTIONS: usize = 16;
/// The case.
pub(crate) const CASE: &str = "a new certificate every 100 ms, 16 connections and new ones";
/// p99 in percent of that without rotations.
pub(crate) const CHANGE: &str = "p99 %";
pub(crate) const FAILED: &str = "failed";
pub(crate) const CLOSED: &str = "closed connections";
/// Certificates that new connections were shown.
pub(crate) const SEEN: &str = "certificates seen";

struct Counts {
    failed: u64,
    closed: u64,
    seen: usize,
    handshakes: u64,
    p99: f64,
}

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = bench.mutating(&review).await?;
    let during = Duration::from_secs(if bench.options.quick { 2 } else { 5 });
    let mut rows = Vec::new();
    for server in servers.iter().skip(1) {
        let mut row = Row::new("S7", CASE, &server.name);
        let process = bench.running.process(&server.backend, Key::P256).await?;
        let target = bench.running.target(&process)?;
        let request: Arc<[u8]> = request(server.path, &review.body).into();
        for _ in 0..if bench.options.quick { 1 } else { 3 } {
            let still = load(bench, &target, &request, during, false).await?;
            let moving = load(bench, &target, &request, during, true).await?;
            row.add(FAILED, moving.failed as f64);
            row.add(CLOSED, moving.closed as f64);
            row.add("handshakes", moving.handshakes as f64);
            row.add(SEEN, moving.seen as f64);
            row.add(P99, moving.p99);
            row.add(CHANGE, moving.p99 / still.p99 * 100.0);
        }
        rows.push(row);
    }
    Ok(bench.shown(rows))
}

/// Calls on connections that stay open, and one handshake after the other, for this time.
async fn load(
    bench: &Bench,
    target: &Target,
    request: &Arc<[u8]>,
    during: Duration,
    rotates: bool,
) -> anyhow::Result<Counts> {
    // Made before, because the client makes its calls on this processor.
    let rotations = if rotates { during.div_duration_f64(EVERY).ceil() as usize } else { 0 };
    let leaves: Vec<_> =
        (0..rotations).map(|_| bench.running.certificates.issue(Key::P256)).collect::<Result<_, _>>()?;
    let end = Instant::now() + during;
    let mut tasks = Vec::new();
    for _ in 0..CONNECTIONS {
        let (target, request) = (target.clone(), Arc::clone(request));
        tasks.push(tokio::spawn(async move {
            let (mut failed, mut closed, mut latency) = (0, 0, histogram()?);
            let mut connection = target.connect().await?;
            while Instant::now() < end {
                let began = Instant::now();
                match connection.call(&request).await {
                    Ok(answer) if answer.status == 200 => {
                        latency.record(u64::try_from(began.elapsed().as_nanos())?)?;
                        closed += u64::from(answer.closes);
                        if answer.closes {
                            connection = target.connect().await?;
                        }
                    }
                    Ok(_) => failed += 1,
                    Err(_) => {
                        failed += 1;
                        connection = target.connect().await?;
                    }
                }
            }
            anyhow::Ok((failed, closed, latency))
        }));
    }
    let handshakes = tokio::spawn({
        let target = target.clone();
        async move {
            let (mut failed, mut count, mut seen) = (0, 0, BTreeSet::new());
            while Instant::now() < end {
                match target.connect().await {
                    Ok(connection) => drop(seen.insert(connection.certificate())),
                    Err(_) => failed += 1,
                }
                count += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            (failed, count, seen.len())
        }
    });
    for leaf in leaves {
        if end <= Instant::now() {
            break;
        }
        tokio::task::spawn_blocking(|| leaf.install()).await??;
        tokio::time::sleep(EVERY).await;
    }
    let (mut failed, mut closed, mut latency) = (0, 0, histogram()?);
    for task in tasks {
        let (more, ended, took) = task.await??;
        (failed, closed) = (failed + more, closed + ended);
        latency.add(took)?;
    }
    let (refused, handshakes, seen) = handshakes.await?;
    let p99 = latency.value_at_quantile(0.99) as f64 / 1e3;
    Ok(Counts { failed: failed + refused, closed, seen, handshakes, p99 })
}
