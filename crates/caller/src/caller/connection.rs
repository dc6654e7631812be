//! Connections to one server, and those that wait for the next call.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::CallError;

/// How many connections may wait.
const IDLE: usize = 25;
/// How long one may wait.
const IDLE_TIME: Duration = Duration::from_secs(90);

pub(super) struct Connections {
    address: SocketAddr,
    server_name: ServerName<'static>,
    connector: TlsConnector,
    idle: Mutex<Vec<Idle>>,
}

/// An open connection.
pub(super) type Connection = SendRequest<Full<Bytes>>;

struct Idle {
    connection: Connection,
    since: Instant,
}

impl Connections {
    pub(super) fn new(
        address: SocketAddr,
        server_name: ServerName<'static>,
        connector: TlsConnector,
    ) -> Self {
        Self { address, server_name, connector, idle: Mutex::default() }
    }

    /// Sends on a waiting connection, else on a new one. As Go does, it tries another connection only where the
    /// waiting one was closed before a byte of the request went out.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        url: impl Fn() -> String,
    ) -> Result<(Response<Incoming>, Connection), CallError> {
        while let Some(mut connection) = self.waiting() {
            if connection.ready().await.is_err() {
                continue;
            }
            match connection.try_send_request(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(CallError::broken(url(), error.into_error())),
                },
            }
        }
        let mut connection = self.open(&url).await?;
        let response = connection.send_request(request).await;
        Ok((response.map_err(|error| CallError::broken(url(), error))?, connection))
    }

    /// Lets a connection wait for the next call; beyond the limit it is closed.
    pub(super) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE && !connection.is_closed() {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }

    /// The connection that waited least.
    fn waiting(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|idle| idle.since.elapsed() < IDLE_TIME);
        idle.pop().map(|idle| idle.connection)
    }

    async fn open(&self, url: &impl Fn() -> String) -> Result<Connection, CallError> {
        let address = self.address;
        let connected = TcpStream::connect(address).await.and_then(|stream| {
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        let stream = connected.map_err(|source| CallError::Connect { url: url(), address, source })?;
        let secured = self.connector.connect(self.server_name.clone(), stream).await;
        let stream = secured.map_err(|source| CallError::Tls { url: url(), source })?;
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| CallError::broken(url(), error))?;
        // It ends with its sender; what ends it early is seen by the request on it.
        tokio::spawn(connection);
        Ok(sender)
    }
}
