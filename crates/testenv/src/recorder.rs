//! A webhook server that records the requests it receives.

mod answer;
mod serve;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::HeaderMap;
use k8s_openapi::ByteString;
use serde_json::Value;

pub use self::answer::Answer;
use crate::background::{self, Serving};
use crate::certificate::Certificate;
use crate::error::Error;
use crate::network::{listen, local_address};
use crate::tls;

/// An HTTPS server that records each AdmissionReview and answers with the result of a function; any path is a hook.
///
/// It runs in a thread of its own until it is dropped, independent of the runtime of the test.
///
/// ```
/// use vestibule_testenv::{Answer, Recorder};
///
/// let recorder = Recorder::start(&["second.default.svc"], |seen| match seen.path.as_str() {
///     "/label" => Answer::Patch(serde_json::json!([
///         { "op": "add", "path": "/metadata/labels", "value": { "second": "was here" } },
///     ])),
///     _ => Answer::Allow,
/// })?;
/// assert!(recorder.recorded().is_empty());
/// # Ok::<(), vestibule_testenv::Error>(())
/// ```
pub struct Recorder {
    address: SocketAddr,
    authority: String,
    records: Arc<Records>,
    _server: Serving,
}

/// A request as it arrived. It has no `Debug`, because objects must not reach a log.
#[derive(Clone)]
#[non_exhaustive]
pub struct Recorded {
    /// The method of HTTP: `POST`.
    pub method: String,
    /// The path of the hook.
    pub path: String,
    /// The part after `?`: `timeout=10s`.
    pub query: String,
    /// The server name in the TLS handshake (SNI).
    pub server_name: Option<String>,
    /// The version of HTTP: `HTTP/1.1`.
    pub protocol: String,
    /// The header `Host`.
    pub host: String,
    /// The AdmissionReview, byte for byte.
    pub body: Bytes,
    headers: HeaderMap,
}

impl Recorder {
    /// Starts a server on a free port of 127.0.0.1, with a certificate for that address and `names`.
    ///
    /// # Errors
    /// [`Error::Certificate`] for a name that no certificate can hold.
    pub fn start(
        names: &[&str],
        answer: impl Fn(&Recorded) -> Answer + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let own = ["127.0.0.1", "localhost"].into_iter();
        let names: Vec<_> = own.chain(names.iter().copied()).map(str::to_owned).collect();
        let certificate = Certificate::for_names(&names)?;
        let tls = tls::acceptor(&certificate)?;
        let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = local_address(&listener)?;
        let records = Arc::new(Records { seen: Mutex::default(), answer: Box::new(answer) });
        let for_connections = records.clone();
        let server = background::serve(listener, move |stream| {
            Some(serve::serve(stream, tls.clone(), for_connections.clone()))
        })?;
        Ok(Self { address, authority: certificate.authority, records, _server: server })
    }

    /// A server that allows everything.
    ///
    /// # Errors
    /// As [`Recorder::start`].
    pub fn allowing(names: &[&str]) -> Result<Self, Error> {
        Self::start(names, |_| Answer::Allow)
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the hook at `path` (`/mutate`), for `clientConfig.url`.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The `clientConfig.caBundle`: the CA of the serving certificate, base64 in JSON.
    pub fn ca_bundle(&self) -> ByteString {
        ByteString(self.authority.as_bytes().to_vec())
    }

    /// The requests so far, in order.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.records.seen().clone()
    }

    /// Returns the requests so far and forgets them.
    pub fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.records.seen())
    }
}

impl Recorded {
    /// The value of a header, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The AdmissionReview; null when the body is not JSON.
    pub fn review(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

struct Records {
    seen: Mutex<Vec<Recorded>>,
    answer: Box<dyn Fn(&Recorded) -> Answer + Send + Sync>,
}

impl Records {
    fn seen(&self) -> std::sync::MutexGuard<'_, Vec<Recorded>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and returns the answer to it.
    fn record(&self, recorded: Recorded) -> Answer {
        let answer = (self.answer)(&recorded).http(&recorded);
        self.seen().push(recorded);
        answer
    }
}
