//! The HTTPS client that kube-apiserver is to a webhook.

mod connection;
mod error;
mod pool;
mod redirect;
mod retry;
mod tls;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use rustls_pki_types::ServerName;

use crate::{Admission, Answer, Bundle, FailurePolicy, Hook, Review, judge};
use connection::Connections;
pub use error::{CallError, SetupError};
pub use pool::Pool;
use redirect::Redirects;
use retry::Retries;
pub(crate) use tls::connector;

/// The port in `NAME.NS.svc:PORT` where a registration names none.
const SERVICE_PORT: u16 = 443;

/// Calls one webhook server as kube-apiserver does: HTTP/1.1 over TLS to a Service's name,
/// up to 25 idle connections kept for 90 s, no TLS resumption.
///
/// What it leaves out: redirects are followed to the same server only, answers are not asked for compressed, an empty CA
/// bundle does not mean the system's roots, TCP asks no silent peer whether it is there, dialling has no time of its own within
/// the hook's, and no `baggage` is sent. It needs a tokio runtime with I/O and time.
///
/// One caller is one API server: several have several, each with a pool of its own, and perhaps a [`Bundle`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use vestibule_caller::{Admission, Caller, FailurePolicy, Hook, Review};
///
/// let ca_bundle = std::fs::read("certs/ca.crt")?;
/// let caller = Caller::new("127.0.0.1:10250".parse()?, "labels.shop.svc", &ca_bundle)?;
/// let review = Review::create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})).build()?;
/// let hook = Hook::mutating("labels.example.com", "/labels");
/// match caller.admit(&review, &hook, FailurePolicy::Fail).await? {
///     Admission::Admitted { object, .. } => println!("{}", object.unwrap_or_default()),
///     Admission::Refused { message, .. } => println!("{message}"),
/// }
/// # Ok(()) }
/// ```
pub struct Caller {
    connections: Connections,
    authority: String,
    retries: u32,
    retried: AtomicU64,
}

impl Caller {
    /// A caller of the server at `address`, whose certificate must be valid for `server_name` (`NAME.NS.svc`) and
    /// signed by a certificate in `ca_bundle` (PEM; text between the certificates is skipped).
    ///
    /// # Errors
    /// Where the bundle holds no certificate, or the name is no DNS name or IP address.
    pub fn new(address: SocketAddr, server_name: &str, ca_bundle: &[u8]) -> Result<Self, SetupError> {
        Self::trusting(address, server_name, &Bundle::new(ca_bundle)?)
    }

    /// The same with a bundle that may be swapped while it calls.
    ///
    /// # Errors
    /// Where the name is no DNS name or IP address.
    pub fn trusting(address: SocketAddr, server_name: &str, bundle: &Bundle) -> Result<Self, SetupError> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| SetupError::ServerName { name: server_name.to_owned() })?;
        let authority = match &name {
            ServerName::IpAddress(ip) => SocketAddr::new((*ip).into(), address.port()).to_string(),
            _ => format!("{server_name}:{SERVICE_PORT}"),
        };
        let connections = Connections::new(address, name, bundle.clone(), Pool::default());
        Ok(Self { connections, authority, retries: retry::MOST, retried: AtomicU64::new(0) })
    }

    /// Another pool than kube-apiserver's.
    #[must_use]
    pub fn pool(self, pool: Pool) -> Self {
        Self { connections: self.connections.limited(pool), ..self }
    }

    /// Repeats a call at the server's wish this many times at most, instead of kube-apiserver's ten: with none, what was
    /// offered to a server is what was called.
    #[must_use]
    pub fn retries(self, most: u32) -> Self {
        Self { retries: most, ..self }
    }

    /// The port that the registration names, for `Host` and for what users read; 443 where nothing is said.
    #[must_use]
    pub fn service_port(self, port: u16) -> Self {
        let name = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(name, _)| name);
        Self { authority: format!("{name}:{port}"), ..self }
    }

    /// How many connections it has opened so far.
    pub fn opened(&self) -> u64 {
        self.connections.opened()
    }

    /// How many open connections wait for the next call now.
    pub fn idle(&self) -> usize {
        self.connections.idle()
    }

    /// How many requests it has sent again so far, because a server asked for that.
    pub fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }

    /// Calls the hook and judges its answer.
    ///
    /// # Errors
    /// Where no answer came. To kube-apiserver that is a failure like others: [`CallError::outcome`] says what it makes
    /// of it. Here it is an error, so that nobody mistakes an unreachable server for one that failed open.
    pub async fn admit(
        &self,
        review: &Review,
        hook: &Hook,
        policy: FailurePolicy,
    ) -> Result<Admission, CallError> {
        let answer = self.call(review, hook).await?;
        Ok(judge(review, hook, &answer).under(policy, review))
    }

    /// Calls the hook, again where it asks for that (429 or 5xx with a `Retry-After` of whole seconds, up to 10 times),
    /// and returns its last answer.
    ///
    /// # Errors
    /// Where no answer came within the hook's timeout, or no connection could be made.
    pub async fn call(&self, review: &Review, hook: &Hook) -> Result<Answer, CallError> {
        let settled = tokio::time::timeout(hook.budget(), self.settle(review, hook));
        settled.await.unwrap_or_else(|_| Err(CallError::Deadline { url: self.url(hook) }))
    }

    async fn settle(&self, review: &Review, hook: &Hook) -> Result<Answer, CallError> {
        let mut retries = Retries::new(self.retries);
        loop {
            let (answer, retry_after) = self.follow(review, hook).await?;
            match retries.pause(answer.status, retry_after.as_deref()) {
                Some(pause) => {
                    self.retried.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                }
                None => return Ok(answer),
            }
        }
    }

    /// One request, and those that redirects make of it; the answer and its `Retry-After`.
    async fn follow(&self, review: &Review, hook: &Hook) -> Result<(Answer, Option<String>), CallError> {
        let mut redirects = Redirects::new(&self.authority, hook.request_target());
        loop {
            let (answer, headers) = self.exchange(review, &redirects, hook).await?;
            let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
            if !redirects.follow(answer.status, header(LOCATION)) {
                let retry_after = header(RETRY_AFTER).map(str::to_owned);
                return Ok((answer, retry_after));
            }
        }
    }

    /// One request, one answer and its headers.
    async fn exchange(
        &self,
        review: &Review,
        to: &Redirects<'_>,
        hook: &Hook,
    ) -> Result<(Answer, HeaderMap), CallError> {
        let url = || self.url(hook);
        let request = self.request(review, to).map_err(|error| CallError::broken(url(), error))?;
        let (response, lease) = self.connections.send(request, url).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| CallError::broken(url(), error))?;
        self.connections.keep(lease);
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let answer = Answer {
            status: head.status.as_u16(),
            content_type: content_type.map(str::to_owned),
            body: body.to_bytes().into(),
        };
        Ok((answer, head.headers))
    }

    fn request(&self, review: &Review, to: &Redirects<'_>) -> http::Result<Request<Full<bytes::Bytes>>> {
        let mut request = Request::builder()
            .method(to.method())
            .uri(to.target())
            .header(HOST, &self.authority)
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(ACCEPT, "application/json, */*")
            .header(ACCEPT_ENCODING, "identity");
        if let Some(traceparent) = review.traceparent() {
            request = request.header("traceparent", traceparent);
        }
        if to.method() == Method::GET {
            return request.body(Full::default());
        }
        request.header(CONTENT_TYPE, "application/json").body(Full::new(review.shared_body()))
    }

    fn url(&self, hook: &Hook) -> String {
        format!("https://{}{}", self.authority, hook.request_target())
    }
}
