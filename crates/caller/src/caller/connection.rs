//! Connections to one server: which one a call is sent on, and how one is opened.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::CallError;
use super::pool::{Connection, Lease, Pool, Waiting};
use crate::bundle::{Bundle, Trust};

/// How long TLS may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

pub(super) struct Connections {
    address: SocketAddr,
    server_name: ServerName<'static>,
    bundle: Bundle,
    waiting: Arc<Waiting>,
    opened: Arc<AtomicU64>,
}

impl Connections {
    pub(super) fn new(
        address: SocketAddr,
        server_name: ServerName<'static>,
        bundle: Bundle,
        pool: Pool,
    ) -> Self {
        Self { address, server_name, bundle, waiting: Waiting::new(pool), opened: Arc::default() }
    }

    /// The same with nothing open yet.
    pub(super) fn limited(self, pool: Pool) -> Self {
        Self { waiting: Waiting::new(pool), ..self }
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub(super) fn idle(&self) -> usize {
        self.waiting.len()
    }

    /// Lets a connection wait for the next call.
    pub(super) fn keep(&self, lease: Lease) {
        self.waiting.keep(lease);
    }

    /// Sends on a waiting connection, else on a new one. As Go does, it tries another connection only where one that was
    /// used before was closed before a byte of the request went out.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        url: impl Fn() -> String,
    ) -> Result<(Response<Incoming>, Lease), CallError> {
        let trust = self.bundle.trust();
        loop {
            let (mut lease, used) = match self.waiting.take(trust.generation) {
                Some(lease) => (lease, true),
                None => self.next(&trust, &url).await?,
            };
            if used && lease.connection.ready().await.is_err() {
                continue;
            }
            match lease.connection.try_send_request(request).await {
                Ok(response) => return Ok((response, lease)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if used => request = unsent,
                    _ => return Err(CallError::broken(url(), error.into_error())),
                },
            }
        }
    }

    /// A new connection, or one that another call has done with meanwhile, whichever is there first; the new one is then
    /// for a later call. Says whether it was used before.
    async fn next(&self, trust: &Trust, url: &impl Fn() -> String) -> Result<(Lease, bool), CallError> {
        let mut free = self.waiting.wait(trust.generation);
        let new = self.open(trust, url());
        let opened = tokio::select! {
            biased;
            Ok(lease) = &mut free => return Ok((lease, true)),
            opened = new => opened,
        };
        free.close();
        if let Ok(lease) = free.try_recv() {
            self.keep(lease);
        }
        let opened = opened.unwrap_or_else(|ended| Err(CallError::broken(url(), ended)));
        opened.map(|lease| (lease, false))
    }

    /// Opens a connection, also when nobody waits for it any more.
    fn open(&self, trust: &Trust, url: String) -> oneshot::Receiver<Result<Lease, CallError>> {
        let (done, opened) = oneshot::channel();
        let dial = dial(self.address, self.server_name.clone(), trust.connector.clone(), url);
        let (waiting, count, generation) =
            (Arc::clone(&self.waiting), Arc::clone(&self.opened), trust.generation);
        tokio::spawn(async move {
            let lease = dial.await.map(|connection| Lease { connection, generation });
            count.fetch_add(u64::from(lease.is_ok()), Ordering::Relaxed);
            if let Err(Ok(unwanted)) = done.send(lease) {
                waiting.keep(unwanted);
            }
        });
        opened
    }
}

async fn dial(
    address: SocketAddr,
    server_name: ServerName<'static>,
    connector: TlsConnector,
    url: String,
) -> Result<Connection, CallError> {
    let connected = TcpStream::connect(address).await.and_then(|stream| {
        stream.set_nodelay(true)?;
        Ok(stream)
    });
    let stream = match connected {
        Ok(stream) => stream,
        Err(source) => return Err(CallError::Connect { url, address, source }),
    };
    let secured = timeout(HANDSHAKE, connector.connect(server_name, stream)).await;
    let late = |_| Err(io::Error::new(io::ErrorKind::TimedOut, "net/http: TLS handshake timeout"));
    let stream = match secured.unwrap_or_else(late) {
        Ok(stream) => stream,
        Err(source) => return Err(CallError::Tls { url, source }),
    };
    let (sender, connection) = match handshake(TokioIo::new(stream)).await {
        Ok(opened) => opened,
        Err(error) => return Err(CallError::broken(url, error)),
    };
    // It ends with its sender; what ends it early is seen by the request on it.
    tokio::spawn(connection);
    Ok(sender)
}
