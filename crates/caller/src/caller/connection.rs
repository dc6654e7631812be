//! The connections to one server: the choice of one for a call, and the opening of a new one.

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

use super::call_error::CallError;
use super::pool::{Connection, IdleConnections, Pool};

/// The longest time of a TLS handshake, as in Go's client.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Connections {
    address: SocketAddr,
    server_name: ServerName<'static>,
    connector: TlsConnector,
    pub(super) idle: Arc<IdleConnections>,
    /// The number of connections that were opened so far.
    pub(super) opened: Arc<AtomicU64>,
}

impl Connections {
    pub(super) fn new(
        address: SocketAddr,
        server_name: ServerName<'static>,
        connector: TlsConnector,
        pool: Pool,
    ) -> Self {
        Self { address, server_name, connector, idle: IdleConnections::new(pool), opened: Arc::default() }
    }

    /// The same with another pool, in which no connection is open.
    pub(super) fn limited(self, pool: Pool) -> Self {
        Self { idle: IdleConnections::new(pool), ..self }
    }

    /// Sends on an idle connection, else on a new one. As in Go, another connection is tried only if a used one was closed before a
    /// byte of the request was sent.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        url: impl Fn() -> String,
    ) -> Result<(Response<Incoming>, Connection), CallError> {
        loop {
            let (mut connection, used) = match self.idle.take() {
                Some(connection) => (connection, true),
                None => self.next(&url).await?,
            };
            if used && connection.ready().await.is_err() {
                continue;
            }
            match connection.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if used => request = unsent,
                    _ => return Err(CallError::broken(url(), error.into_error())),
                },
            }
        }
    }

    /// A new connection, or one that another call gives back meanwhile, whichever comes first; the other one is kept for a later
    /// call. Returns whether the connection was used before.
    async fn next(&self, url: &impl Fn() -> String) -> Result<(Connection, bool), CallError> {
        let mut free = self.idle.wait();
        let opened = tokio::select! {
            biased;
            Ok(connection) = &mut free => return Ok((connection, true)),
            opened = self.open(url()) => opened,
        };
        free.close();
        if let Ok(connection) = free.try_recv() {
            self.idle.keep(connection);
        }
        let opened = opened.unwrap_or_else(|ended| Err(CallError::broken(url(), ended)));
        opened.map(|connection| (connection, false))
    }

    /// Opens a connection, even if the call is cancelled meanwhile.
    fn open(&self, url: String) -> oneshot::Receiver<Result<Connection, CallError>> {
        let (done, opened) = oneshot::channel();
        let dial = dial(self.address, self.server_name.clone(), self.connector.clone(), url);
        let (idle, count) = (Arc::clone(&self.idle), Arc::clone(&self.opened));
        tokio::spawn(async move {
            let connection = dial.await;
            count.fetch_add(u64::from(connection.is_ok()), Ordering::Relaxed);
            if let Err(Ok(unwanted)) = done.send(connection) {
                idle.keep(unwanted);
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
    let secured = timeout(HANDSHAKE_TIMEOUT, connector.connect(server_name, stream)).await;
    let late = |_| Err(io::Error::new(io::ErrorKind::TimedOut, "net/http: TLS handshake timeout"));
    let stream = match secured.unwrap_or_else(late) {
        Ok(stream) => stream,
        Err(source) => return Err(CallError::Tls { url, source }),
    };
    let (sender, connection) = match handshake(TokioIo::new(stream)).await {
        Ok(opened) => opened,
        Err(error) => return Err(CallError::broken(url, error)),
    };
    // The task ends with its sender. An earlier error is returned by the request on the connection.
    tokio::spawn(connection);
    Ok(sender)
}
