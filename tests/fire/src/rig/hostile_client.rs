//! Clients that occupy connections without a complete request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{NAME, Process};

/// The behaviour of a hostile client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostileClient {
    /// Connects and sends nothing.
    Silent,
    /// Sends the head of a request at one byte a second.
    SlowHead,
    /// Sends a head with a `content-length`, and the body at one byte a second.
    SlowBody,
    /// Completes a handshake and closes the connection.
    Handshake,
    /// Completes a handshake and sends no request.
    Resting,
    /// Sends a `ClientHello`, which is all that a server needs for the costly part of a handshake, and closes the connection
    /// at the first byte of the answer.
    Hello,
}

/// Counts of how the connections ended.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcomes {
    /// Accepted connections that the server closed, or that ended by themselves.
    pub ended: usize,
    /// Connections that were refused, or whose handshake failed.
    pub refused: usize,
    /// Connections that were still open at the end of the patience.
    pub staying: usize,
    /// The longest lifetime of a connection, from its handshake if it has one.
    pub longest: Duration,
    /// The begin and lifetime of each accepted connection.
    pub stays: Vec<(Instant, Duration)>,
}

enum Outcome {
    Ended(Instant, Duration),
    Refused,
    Staying,
}

/// Opens `count` connections evenly over `during`. Each stays until the server closes it, or until `patience` is over.
///
/// # Errors
/// The server's CA cannot be read.
pub async fn open_many(
    server: &Process,
    client: HostileClient,
    count: usize,
    during: Duration,
    patience: Duration,
) -> anyhow::Result<Outcomes> {
    let connector = connector(&server.ca()?)?;
    let (address, began) = (server.address(), Instant::now());
    let mut clients = JoinSet::new();
    for number in 0..count {
        let connector = connector.clone();
        let due = began + during.mul_f64(number as f64 / count.max(1) as f64);
        clients.spawn(async move {
            sleep_until(due.into()).await;
            one(address, connector, client, patience).await
        });
    }
    let mut outcomes = Outcomes::default();
    while let Some(outcome) = clients.join_next().await {
        match outcome? {
            Outcome::Ended(came, stayed) => {
                outcomes.ended += 1;
                outcomes.stays.push((came, stayed));
                outcomes.longest = outcomes.longest.max(stayed);
            }
            Outcome::Refused => outcomes.refused += 1,
            Outcome::Staying => outcomes.staying += 1,
        }
    }
    Ok(outcomes)
}

async fn one(
    address: SocketAddr,
    connector: TlsConnector,
    client: HostileClient,
    patience: Duration,
) -> Outcome {
    let Ok(stream) = TcpStream::connect(address).await else { return Outcome::Refused };
    match timeout(patience, stay(stream, connector, client)).await {
        Ok(Some(came)) => Outcome::Ended(came, came.elapsed()),
        Ok(None) => Outcome::Refused,
        Err(_) => Outcome::Staying,
    }
}

/// Returns the begin of the connection after it ended; `None` if the handshake failed.
async fn stay(mut stream: TcpStream, connector: TlsConnector, client: HostileClient) -> Option<Instant> {
    if client == HostileClient::Silent {
        let came = Instant::now();
        until_ended(stream).await;
        return Some(came);
    }
    if client == HostileClient::Hello {
        let came = Instant::now();
        stream.write_all(&hello(&connector)?).await.ok()?;
        return (stream.read(&mut [0]).await.ok()? > 0).then_some(came);
    }
    let stream = secure(&connector, stream).await?;
    let came = Instant::now();
    match client {
        HostileClient::Silent | HostileClient::Hello | HostileClient::Handshake => {}
        HostileClient::Resting => until_ended(stream).await,
        HostileClient::SlowHead => {
            drip(stream, b"POST /mutate/label HTTP/1.1\r\nhost: webhook\r\nx-slow: ").await;
        }
        HostileClient::SlowBody => {
            drip(stream, b"POST /mutate/label HTTP/1.1\r\nhost: webhook\r\ncontent-length: 1000000\r\n\r\n")
                .await;
        }
    }
    Some(came)
}

async fn secure(connector: &TlsConnector, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    connector.connect(ServerName::try_from(NAME).ok()?, stream).await.ok()
}

/// The record of a `ClientHello`.
fn hello(connector: &TlsConnector) -> Option<Vec<u8>> {
    let mut client =
        ClientConnection::new(Arc::clone(connector.config()), ServerName::try_from(NAME).ok()?).ok()?;
    let mut record = Vec::new();
    client.write_tls(&mut record).ok()?;
    Some(record)
}

async fn until_ended(mut stream: impl AsyncRead + Unpin) {
    while let Ok(1..) = stream.read(&mut [0; 256]).await {}
}

/// Sends `first` at once, then one byte a second until the server closes the connection.
async fn drip(stream: TlsStream<TcpStream>, first: &[u8]) {
    let (reading, mut writing) = tokio::io::split(stream);
    let write = async {
        if writing.write_all(first).await.is_err() {
            return;
        }
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if send(&mut writing).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = write => {}
        () = until_ended(reading) => {}
    }
}

async fn send(writing: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
    writing.write_all(b"x").await?;
    writing.flush().await
}

fn connector(ca: &[u8]) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca) {
        roots.add(certificate.context("the CA")?)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
