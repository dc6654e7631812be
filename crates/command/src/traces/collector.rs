//! The HTTP client of the collector.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::runtime::Handle;

/// The longest answer of a collector that is read.
const LONGEST_ANSWER: usize = 64 << 10;
/// Spans for a slower collector are dropped.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(10);
/// The variable of OpenTelemetry that names a file with CA certificates.
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const WARNING_INTERVAL: Duration = Duration::from_secs(300);

/// Requests run on the runtime that it was made on: the thread of the exporter has none.
#[derive(Debug)]
pub(super) struct Collector {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
    last_warning: Mutex<Option<Instant>>,
}

impl Collector {
    pub(super) fn new() -> Self {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls_config()).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new()).build(connector.build());
        Self { client, runtime: Handle::current(), last_warning: Mutex::default() }
    }

    /// Logs a warning, at most one in five minutes.
    fn warn(&self, why: &str) {
        let mut last_warning = self.last_warning.lock().unwrap_or_else(PoisonError::into_inner);
        if last_warning.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL) {
            *last_warning = Some(Instant::now());
            tracing::warn!(target: "vestibule::server", why, "spans do not reach the collector; answers do not depend on it");
        }
    }
}

type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Collector {
    fn send_bytes<'a, 'sending>(&'a self, request: Request<Bytes>) -> ResponseFuture<'sending>
    where
        'a: 'sending,
        Self: 'sending,
    {
        Box::pin(async move {
            let sent = self.runtime.spawn(send(self.client.clone(), request));
            let answer = sent.await.map_err(HttpError::from).and_then(|answer| answer);
            match &answer {
                Ok(answer) if answer.status().is_success() => {}
                Ok(answer) => self.warn(answer.status().as_str()),
                Err(error) => self.warn(&root_cause(&**error)),
            }
            answer
        })
    }
}

async fn send(
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let exchange = async {
        let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await?.to_bytes();
        Ok(Response::from_parts(head, body))
    };
    tokio::time::timeout(LONGEST_EXCHANGE, exchange).await?
}

/// Trusts the CAs in the file that [`CERTIFICATE`] names, else the system's. A collector behind `http` needs none.
fn tls_config() -> ClientConfig {
    let builder = ClientConfig::builder();
    let of = |roots| ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let Some(file) = std::env::var_os(CERTIFICATE).filter(|file| !file.is_empty()) else {
        return match builder.with_native_roots() {
            Ok(builder) => builder.with_no_client_auth(),
            Err(_) => of(RootCertStore::empty()),
        };
    };
    let mut roots = RootCertStore::empty();
    match CertificateDer::pem_file_iter(&file) {
        Ok(certificates) => drop(roots.add_parsable_certificates(certificates.flatten())),
        Err(error) => {
            tracing::warn!(%error, "{CERTIFICATE} cannot be read: no collector behind https is trusted");
        }
    }
    of(roots)
}

/// The deepest reason: the outer ones say no more than that something failed.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
}
