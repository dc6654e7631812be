//! Requests to the port for probes and metrics, which has no TLS.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The response with its head.
///
/// # Errors
/// The port does not answer.
pub async fn get(probes: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(probes).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: probes\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The sum of the samples whose line starts with `begins` and contains all of `labels`.
///
/// # Errors
/// The port does not answer.
pub async fn metric(probes: SocketAddr, begins: &str, labels: &[&str]) -> anyhow::Result<f64> {
    Ok(sum(&get(probes, "/metrics").await?, begins, labels))
}

/// The same sum from a response that was already read.
#[must_use]
pub fn sum(metrics: &str, begins: &str, labels: &[&str]) -> f64 {
    let samples = metrics.lines().filter(|line| line.starts_with(begins));
    let samples = samples.filter(|line| labels.iter().all(|label| line.contains(label)));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
