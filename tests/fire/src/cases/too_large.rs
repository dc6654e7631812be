//! A01: bodies of a byte too many.

use std::time::{Duration, Instant};

use hostile::malformed::Connection;
use tokio::task::spawn_blocking;

use super::ground::{mebibytes, millis, webhook};
use super::quiet;
use super::{Lateness, Row};
use crate::rig::NAME;

const MANY: usize = 100;
const LIMIT: usize = 28 << 20;
/// Within this, each is answered, from its head or from the byte too many on.
const SLOWEST: Duration = Duration::from_millis(50);
/// What those may take that say at once how much they are, in KiB: nothing of them is read.
const MOST: u64 = 1 << 10;
/// Whoever does not say it is read up to the limit.
const MOST_READ: u64 = MOST + (LIMIT as u64 >> 10);

pub(super) async fn run() -> anyhow::Result<Vec<Row>> {
    let server = webhook(&[]).await?;
    let before = quiet::settle(&server).await?;
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
    rows.push(quiet::after("A01", &server, before).await?);
    Ok(rows)
}

/// From the head to the answer; not a byte of the body is sent.
fn declared(connection: &mut Connection) -> (Instant, Duration) {
    let head = connection.head("/mutate/label", &format!("content-length: {}", LIMIT + 1));
    answered(connection, head.as_bytes())
}

/// From the byte too many to the answer.
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
