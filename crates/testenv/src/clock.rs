//! A proxy that shifts the time that an API server reports.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hyper::body::Incoming;
use hyper::header::{DATE, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::jiff::SignedDuration;
use k8s_openapi::jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::access::Access;
use crate::background::{Serving, serve};
use crate::certificate::Certificate;
use crate::error::Error;
use crate::network::{listen, local_address};
use crate::tls;

/// Shifts the header `Date` of every response of an API server; clients correct their clocks by it. Nothing else
/// changes: tokens and watches pass through.
///
/// It runs in a thread of its own until it is dropped, independent of the runtime of the test.
pub struct Clock {
    ahead: Arc<AtomicI64>,
    _server: Serving,
}

impl Clock {
    /// Starts a clock before the server of `access`, and returns it with the access through it.
    pub(crate) fn before(access: &Access) -> Result<(Self, Access), Error> {
        let upstream = access.address;
        let certificate = Certificate::for_names(&[upstream.ip().to_string()])?;
        let (acceptor, connector) = (tls::acceptor(&certificate)?, tls::connector(&access.authority)?);
        let listener = listen(SocketAddr::new(upstream.ip(), 0))?;
        let authority = certificate.authority.as_str().into();
        let through = Access { authority, ..access.at(local_address(&listener)?) };
        let ahead = Arc::new(AtomicI64::new(0));
        let hop = Arc::new(Hop { acceptor, connector, upstream, ahead: ahead.clone() });
        let server = serve(listener, move |client| {
            let hop = hop.clone();
            // The client and the server see the errors of their connection.
            Some(async move { hop.forward(client).await.map_or_else(drop, drop) })
        })?;
        Ok((Self { ahead, _server: server }, through))
    }

    /// From now on, `Date` is so many seconds ahead, or behind when negative. Zero at first.
    pub fn ahead_by(&self, seconds: i64) {
        self.ahead.store(seconds, Ordering::SeqCst);
    }
}

struct Hop {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    upstream: SocketAddr,
    ahead: Arc<AtomicI64>,
}

impl Hop {
    /// Forwards the requests of one client connection over one upstream connection.
    async fn forward(&self, client: TcpStream) -> io::Result<()> {
        let client = self.acceptor.accept(client).await?;
        let server = TcpStream::connect(self.upstream).await?;
        let name = ServerName::IpAddress(self.upstream.ip().into());
        let server = self.connector.connect(name, server).await?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(server)).await;
        let (requests, server) = handshake.map_err(io::Error::other)?;
        let serve = async move {
            let requests = Mutex::new(requests);
            let service = service_fn(async |request: Request<Incoming>| {
                let mut requests = requests.lock().await;
                requests.ready().await?;
                requests.send_request(request).await.map(|response| self.shift(response))
            });
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(client), service).await
        };
        // The upstream connection ends when `serve` lets go of it.
        let (served, _) = tokio::join!(serve, server);
        served.map_err(io::Error::other)
    }

    fn shift(&self, mut response: Response<Incoming>) -> Response<Incoming> {
        if let Some(date) = shifted(response.headers(), self.ahead.load(Ordering::SeqCst)) {
            response.headers_mut().insert(DATE, date);
        }
        response
    }
}

fn shifted(headers: &HeaderMap, seconds: i64) -> Option<HeaderValue> {
    let date = DateTimeParser::new().parse_timestamp(headers.get(DATE)?).ok()?;
    let date = date.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    HeaderValue::try_from(DateTimePrinter::new().timestamp_to_rfc9110_string(&date).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_date_is_in_the_format_of_http() {
        let headers =
            HeaderMap::from_iter([(DATE, HeaderValue::from_static("Sat, 28 Feb 2026 23:59:59 GMT"))]);
        assert_eq!(shifted(&headers, 1).unwrap(), "Sun, 01 Mar 2026 00:00:00 GMT");
        assert_eq!(shifted(&headers, -60).unwrap(), "Sat, 28 Feb 2026 23:58:59 GMT");
    }
}
