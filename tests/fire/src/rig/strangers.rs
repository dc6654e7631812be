//! Those who come to be a burden.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{NAME, Process};

/// What one of them does with its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// Connects, and never says a word.
    Silent,
    /// Sends the head of a request a byte a second.
    SlowHead,
    /// Sends a head that announces a body, and the body a byte a second.
    SlowBody,
    /// Shakes hands, and leaves.
    Handshake,
    /// Shakes hands, and never asks anything.
    Resting,
}

/// How they left.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Left {
    /// Those who were let in, and whose connection the server ended, or who left by themselves.
    pub ended: usize,
    /// Those who were never let in: no connection, or no handshake where they began one.
    pub refused: usize,
    /// Those who are still there at the end of the patience.
    pub staying: usize,
    /// The longest time that one was there, from its connection on, or from its handshake where it makes one.
    pub longest: Duration,
    /// When each of those who were let in had come, and how long it was there.
    pub stays: Vec<(Instant, Duration)>,
}

enum Fate {
    Ended(Instant, Duration),
    Refused,
    Staying,
}

/// `count` of them come, evenly over `during`, and each stays until the server ends it, `patience` long at most.
///
/// # Errors
/// The server's CA cannot be read.
pub async fn come(
    server: &Process,
    stranger: Stranger,
    count: usize,
    during: Duration,
    patience: Duration,
) -> anyhow::Result<Left> {
    let connector = connector(&server.ca()?)?;
    let (address, began) = (server.address(), Instant::now());
    let mut strangers = JoinSet::new();
    for number in 0..count {
        let connector = connector.clone();
        let due = began + during.mul_f64(number as f64 / count.max(1) as f64);
        strangers.spawn(async move {
            sleep_until(due.into()).await;
            one(address, connector, stranger, patience).await
        });
    }
    let mut left = Left::default();
    while let Some(fate) = strangers.join_next().await {
        match fate? {
            Fate::Ended(came, stayed) => {
                left.ended += 1;
                left.stays.push((came, stayed));
                left.longest = left.longest.max(stayed);
            }
            Fate::Refused => left.refused += 1,
            Fate::Staying => left.staying += 1,
        }
    }
    Ok(left)
}

async fn one(address: SocketAddr, connector: TlsConnector, stranger: Stranger, patience: Duration) -> Fate {
    let Ok(stream) = TcpStream::connect(address).await else { return Fate::Refused };
    match timeout(patience, stay(stream, connector, stranger)).await {
        Ok(Some(came)) => Fate::Ended(came, came.elapsed()),
        Ok(None) => Fate::Refused,
        Err(_) => Fate::Staying,
    }
}

/// Since when it was there; `None` when there was no handshake.
async fn stay(stream: TcpStream, connector: TlsConnector, stranger: Stranger) -> Option<Instant> {
    if stranger == Stranger::Silent {
        let came = Instant::now();
        until_ended(stream).await;
        return Some(came);
    }
    let stream = secure(&connector, stream).await?;
    let came = Instant::now();
    match stranger {
        Stranger::Silent | Stranger::Handshake => {}
        Stranger::Resting => until_ended(stream).await,
        Stranger::SlowHead => {
            drip(stream, b"POST /mutate/label HTTP/1.1\r\nhost: webhook\r\nx-slow: ").await;
        }
        Stranger::SlowBody => {
            drip(stream, b"POST /mutate/label HTTP/1.1\r\nhost: webhook\r\ncontent-length: 1000000\r\n\r\n")
                .await;
        }
    }
    Some(came)
}

async fn secure(connector: &TlsConnector, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    connector.connect(ServerName::try_from(NAME).ok()?, stream).await.ok()
}

async fn until_ended(mut stream: impl AsyncRead + Unpin) {
    while let Ok(1..) = stream.read(&mut [0; 256]).await {}
}

/// Sends `first` at once, then a byte a second until the server has enough of it.
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
