//! S5: every call on a new connection, with its TLS handshake.

use super::rounds::Case;
use crate::bench::{Bench, Expected};
use crate::certificates::Key;
use crate::figure::Row;
use crate::load::Closed;
use crate::review::{Review, SMALL};
use crate::servers::mutating;

/// Calls at a time. With more, the client is the limit on one processor.
const CONNECTIONS: usize = 4;

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = mutating(bench.options.baseline.as_deref());
    let servers = bench.agreeing(servers, &review, Expected::Sidecars(1)).await?;
    let keys: &[_] = if bench.options.quick { &[Key::P256] } else { &[Key::P256, Key::Rsa2048] };
    let mut rows = Vec::new();
    for key in keys.iter().copied() {
        let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
        let load = Closed { connections: CONNECTIONS, reconnects: true, warm_up, during };
        let name = format!("{}, {} certificate, a connection for each call", review.shape, key.name());
        let case = Case { scenario: "S5", name, review: &review, key, load };
        let mut measured = case.run(bench, &servers).await?;
        for (server, row) in servers.iter().zip(&mut measured) {
            let process = bench.running.process(&server.backend, key).await?;
            row.note(bench.running.key_exchange(&process).await?);
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}
