//! A01: bodies one byte above the limit.

use std::time::{Duration, Instant};

use hostile::malformed::Connection;
use tokio::task::spawn_blocking;

use super::fixture::{mebibytes, millis, webhook};
use super::memory_after_load;
use super::{Lateness, Row};
use crate::rig::NAME;

const MANY: usize = 100;
const LIMIT: usize = 28 << 20;
/// The limit of each answer, from the head or from the first byte above the limit.
const SLOWEST: Duration = Duration::from_millis(50);
/// Memory growth for bodies with a `content-length`, in KiB: nothing of them is read.
const MOST: u64 = 1 << 10;
/// Memory growth for chunked bodies, in KiB: they are read up to the limit.
const MOST_READ: u64 = MOST + (LIMIT as u64 >> 10);

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let before = memory_after_load::warm_up(&server).await?;
    let mut rows = Vec::new();
    for (what, most, post) in [
        ("declare a byte too many", MOST, declared as fn(&mut Connection) -> (Instant, Duration)),
        ("send it in chunks, one after the other", MOST_READ, chunked),
    ] {
        let (address, bundle, resident) = (server.address(), server.ca()?, server.memory()?.resident);
        server.forget_peak();
        let all = spawn_blocking(move || {
            let mut connection = Connection::to(address, NAME, &bundle);
            (0..MANY).map(|_| post(&mut connection)).collect::<Vec<_>>()
        });
        let all = all.await?;
        let slowest = all.iter().map(|(_, took)| *took).max().unwrap_or_default();
        let grown = server.memory()?.peak.saturating_sub(resident);
        let row = Row::of("A01", format!("{MANY} bodies that {what}")).seen(format!("{MANY} x 413")).judged(
            format!("slowest {}, {} more at most", millis(slowest), mebibytes(grown)),
            format!("413 within {}, {} more", millis(SLOWEST), mebibytes(most)),
            slowest <= SLOWEST && grown <= most,
        );
        rows.push(row.late(grown <= most, [Lateness::each(SLOWEST, all)]));
    }
    rows.push(memory_after_load::compare("A01", &server, before).await?);
    Ok(rows)
}

/// Sends only a head; the time from the head to the answer.
fn declared(connection: &mut Connection) -> (Instant, Duration) {
    let head = connection.head("/mutate/label", &format!("content-length: {}", LIMIT + 1));
    answered(connection, head.as_bytes())
}

/// Sends chunks up to the limit; the time from the next byte to the answer.
fn chunked(connection: &mut Connection) -> (Instant, Duration) {
    const CHUNK: usize = 1 << 20;
    let head = connection.head("/mutate/label", "transfer-encoding: chunked");
    let chunk = format!("{CHUNK:x}\r\n{}\r\n", " ".repeat(CHUNK));
    connection.send(&[head, chunk.repeat(LIMIT / CHUNK)].concat().into_bytes());
    answered(connection, b"1\r\n \r\n")
}

fn answered(connection: &mut Connection, last: &[u8]) -> (Instant, Duration) {
    let began = Instant::now();
    connection.send(last);
    let (status, answer) = connection.answer();
    assert!(status == 413 && answer.len() < 300, "{status}, {} bytes", answer.len());
    (began, began.elapsed())
}
