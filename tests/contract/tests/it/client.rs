//! An HTTP client with one connection that shows the whole response.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vestibule_caller::Review;

use crate::process::{NAME, Process};

pub(crate) struct Client(SendRequest<Full<Bytes>>);

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Why a call failed.
pub(crate) enum Broken {
    /// The connection was closed before a byte was sent: Go retries on another one.
    Unsent,
    /// The user's request fails.
    Lost(hyper::Error),
}

/// A TLS configuration that trusts the process.
pub(crate) fn trust(process: &Process) -> Arc<ClientConfig> {
    trust_by(process, rustls::crypto::aws_lc_rs::default_provider())
}

/// The same with another cryptographic provider.
pub(crate) fn trust_by(process: &Process, provider: CryptoProvider) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&process.ca()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A TLS connection for raw bytes.
pub(crate) async fn secured(process: &Process, config: &Arc<ClientConfig>) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(process.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    TlsConnector::from(Arc::clone(config)).connect(name, stream).await.unwrap()
}

impl Client {
    pub(crate) async fn connect(process: &Process) -> Self {
        Self::trusting(process, &trust(process)).await
    }

    pub(crate) async fn trusting(process: &Process, config: &Arc<ClientConfig>) -> Self {
        let (sender, connection) = handshake(TokioIo::new(secured(process, config).await)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn review(&mut self, path: &str, review: &Review) -> Reply {
        self.post(path, review.body().to_vec()).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> Reply {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Full::new(body.into())).unwrap()).await
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Reply {
        self.try_send(request).await.unwrap_or_else(|broken| match broken {
            Broken::Unsent => panic!("the connection was closed"),
            Broken::Lost(error) => panic!("the call was lost: {error}"),
        })
    }

    pub(crate) async fn try_send(&mut self, mut request: Request<Full<Bytes>>) -> Result<Reply, Broken> {
        request.headers_mut().insert("host", NAME.parse().unwrap());
        self.0.ready().await.map_err(|_| Broken::Unsent)?;
        let response =
            self.0.try_send_request(request).await.map_err(|mut error| match error.take_message() {
                Some(_) => Broken::Unsent,
                None => Broken::Lost(error.into_error()),
            })?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(Broken::Lost)?.to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Ok(Reply { status: head.status, headers: head.headers, body })
    }

    /// Whether the server lets the connection be used again.
    pub(crate) async fn is_usable(&mut self) -> bool {
        self.0.ready().await.is_ok()
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.json()["response"].clone()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Whether the response is a 4xx or 5xx with one short line of text.
    pub(crate) fn is_short_text(&self) -> bool {
        self.header("content-type").starts_with("text/plain")
            && !self.body.is_empty()
            && self.body.len() < 300
            && self.body.lines().count() == 1
    }
}
