//! S5: every call on a new connection, with its TLS handshake.

use super::rounds::Case;
use crate::certificates::Key;
use crate::figure::Row;
use crate::load::Closed;
use crate::run::Bench;
use bench::review::{Review, SMALL};

/// Calls at a time. With more, the client is the limit on one processor.
const CONNECTIONS: usize = 4;

/// The cases.
pub(crate) const P256: &str = "P-256 certificate, a connection for each call";
pub(crate) const RSA: &str = "RSA-2048 certificate, a connection for each call";
pub(crate) const CLASSIC: &str = "P-256 certificate, the client offers X25519 only";

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let review = Review::new(SMALL)?;
    let servers = bench.mutating(&review).await?;
    let cases = [(P256, Key::P256, false), (CLASSIC, Key::P256, true), (RSA, Key::Rsa2048, false)];
    let mut rows = Vec::new();
    for (name, key, is_classic) in cases.into_iter().take(bench.options.cases(3)) {
        let (warm_up, during) = (bench.options.warm_up(), bench.options.during());
        let load = Closed { connections: CONNECTIONS, reconnects: true, warm_up, during };
        let case = Case { scenario: "S5", name: name.to_owned(), review: &review, key, is_classic, load };
        let mut measured = case.run(bench, &servers).await?;
        for (server, row) in servers.iter().zip(&mut measured) {
            let process = bench.running.process(&server.backend, key).await?;
            row.note(bench.running.key_exchange(&process, is_classic).await?);
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}
