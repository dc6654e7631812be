//! S10: from the start of the process to its first answer.

use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::net::TcpStream;

use crate::certificates::Key;
use crate::connection::{Target, request};
use crate::figure::Row;
use crate::load::expect_success;
use crate::run::Bench;
use crate::servers::{Credentials, Server, mutating};
use bench::review::{Review, SMALL};

/// Starts of each server.
const STARTS: usize = 15;
/// The case without a certificate.
pub(crate) const NEW: &str = "no certificate before: CA and leaf are made";
/// In milliseconds.
pub(crate) const FIRST_ANSWER: &str = "first answer ms";

pub(super) async fn run(bench: &mut Bench) -> anyhow::Result<Vec<Row>> {
    let body = Review::new(SMALL)?.body;
    let servers = bench.available(mutating(bench.options.baseline.as_deref()));
    let starts = if bench.options.quick { 3 } else { STARTS };
    let mut rows = Vec::new();
    for makes_ca in [false, true] {
        let case = if makes_ca { NEW } else { "mounted certificate" };
        let servers: Vec<_> =
            servers.iter().filter(|server| !makes_ca || server.backend.makes_certificates()).collect();
        let mut measured: Vec<_> = servers.iter().map(|server| Row::new("S10", case, &server.name)).collect();
        for _ in 0..starts {
            for (server, row) in servers.iter().zip(&mut measured) {
                match first_answer(bench, server, makes_ca, &body).await {
                    Ok(took) => row.add(FIRST_ANSWER, took.as_secs_f64() * 1e3),
                    Err(error) => row.note(format!("failed: {error:#}")),
                }
            }
        }
        rows.extend(bench.shown(measured));
    }
    Ok(rows)
}

/// The time from the start of the process to the end of the first call.
async fn first_answer(
    bench: &Bench,
    server: &Server,
    makes_ca: bool,
    body: &str,
) -> anyhow::Result<Duration> {
    let folder = tempfile::tempdir()?;
    let credentials = match makes_ca {
        true => Credentials::Local(folder.path().to_owned()),
        false => Credentials::Mounted(Key::P256),
    };
    let (command, address) = bench.running.command(&server.backend, &credentials)?;
    let request = request(server.path, body);
    let certificates = &bench.running.certificates;
    let began = Instant::now();
    let mut process = bench.running.spawn(command, address)?;
    while TcpStream::connect(address).await.is_err() {
        if let Some(end) = process.ended() {
            bail!("{end}");
        }
        tokio::task::yield_now().await;
    }
    let config = match makes_ca {
        true => certificates.client_of(&folder.path().join("ca.crt"))?,
        false => certificates.client()?,
    };
    let mut connection = Target { address, config }.connect().await?;
    let answer = connection.call(&request).await?;
    let took = began.elapsed();
    expect_success(&answer)?;
    Ok(took)
}
