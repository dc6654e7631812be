//! What a replica says of its rules, on its plain port.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The rules of a replica at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) hash: String,
    /// Whether something in the newest texts is wrong.
    pub(super) wrong: bool,
}

/// The rules that are in force at a replica.
pub(super) async fn rules(probes: SocketAddr) -> anyhow::Result<Rules> {
    let text = get(probes, "/readyz?verbose").await?;
    let line = text.lines().find_map(|line| line.strip_prefix("configuration: hash "));
    let line = line.with_context(|| format!("no rules in force: {text}"))?;
    let (hash, rest) = line.split_once(',').context("a hash")?;
    Ok(Rules { hash: hash.to_owned(), wrong: rest.contains("wrong in the newest texts") })
}

/// The sum of a replica's counters of pods whose series begin with `name` and have all of `labels`.
pub(super) async fn count(probes: SocketAddr, name: &str, labels: &[&str]) -> anyhow::Result<u64> {
    let text = get(probes, "/metrics").await?;
    let lines = text.lines().filter(|line| line.starts_with(name));
    let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
    let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok());
    Ok(lines.filter_map(count).sum::<f64>() as u64)
}

async fn get(probes: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(probes).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: probes\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
