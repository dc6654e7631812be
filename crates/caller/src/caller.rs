//! An HTTPS client that calls webhooks as kube-apiserver does.

mod call_error;
mod connection;
mod pool;
mod redirect;
mod retry;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use rustls_pki_types::ServerName;

pub use self::call_error::CallError;
use self::connection::Connections;
pub use self::pool::Pool;
use self::redirect::Redirects;
use self::retry::{MAX_RETRIES, pause};
use crate::answer::Answer;
use crate::conformance::judge;
use crate::hook::Hook;
use crate::outcome::{Admission, FailurePolicy};
use crate::review::Review;
use crate::setup_error::SetupError;
use crate::tls::connector;

/// The port in `NAME.NS.svc:PORT` of a registration without a port.
const SERVICE_PORT: u16 = 443;

/// Calls one webhook server as kube-apiserver does: HTTP/1.1 over TLS to a Service's name,
/// up to 25 idle connections kept for 90 s, no TLS resumption.
///
/// Differences to kube-apiserver: redirects are followed to the same server only, compressed answers are not requested, an empty CA
/// bundle does not mean the system's roots, there are no TCP keep-alive probes, connecting has no timeout of its own within the
/// hook's, and no `baggage` is sent. It needs a tokio runtime with I/O and time.
///
/// One caller stands for one API server, with a pool of its own.
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
    /// A caller of the server at `address`, whose certificate must be valid for `server_name` (`NAME.NS.svc`) and signed by a CA in
    /// `ca_bundle` (PEM; text between the certificates is skipped).
    ///
    /// # Errors
    /// The bundle holds no certificate, or the name is no DNS name or IP address.
    pub fn new(address: SocketAddr, server_name: &str, ca_bundle: &[u8]) -> Result<Self, SetupError> {
        let connector = connector(ca_bundle)?;
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| SetupError::ServerName { name: server_name.to_owned() })?;
        let authority = match &name {
            ServerName::IpAddress(ip) => SocketAddr::new((*ip).into(), address.port()).to_string(),
            _ => format!("{server_name}:{SERVICE_PORT}"),
        };
        let connections = Connections::new(address, name, connector, Pool::default());
        Ok(Self { connections, authority, retries: MAX_RETRIES, retried: AtomicU64::new(0) })
    }

    /// Sets the limits of its pool; kube-apiserver's by default.
    #[must_use]
    pub fn pool(self, pool: Pool) -> Self {
        Self { connections: self.connections.limited(pool), ..self }
    }

    /// The most times that a call is repeated because the server asks for it, ten by default as in kube-apiserver. With zero, the
    /// number of requests is the number of calls.
    #[must_use]
    pub fn retries(self, most: u32) -> Self {
        Self { retries: most, ..self }
    }

    /// The port of the registration, for the `Host` header and messages; 443 by default.
    #[must_use]
    pub fn service_port(self, port: u16) -> Self {
        let name = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(name, _)| name);
        Self { authority: format!("{name}:{port}"), ..self }
    }

    /// The number of connections that were opened so far.
    pub fn opened(&self) -> u64 {
        self.connections.opened.load(Ordering::Relaxed)
    }

    /// The number of idle connections.
    pub fn idle(&self) -> usize {
        self.connections.idle.len()
    }

    /// The number of requests that were repeated so far because the server asked for it.
    pub fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }

    /// Calls the hook and judges its answer.
    ///
    /// # Errors
    /// The call got no answer. For kube-apiserver that is a failure like others ([`CallError::outcome`]). Here it is an error, so that
    /// an unreachable server is not mistaken for one that failed open.
    pub async fn admit(
        &self,
        review: &Review,
        hook: &Hook,
        policy: FailurePolicy,
    ) -> Result<Admission, CallError> {
        let answer = self.call(review, hook).await?;
        Ok(judge(review, hook, &answer).under(policy, review))
    }

    /// Calls the hook and returns its last answer. The call is repeated up to 10 times if the server asks for it (429 or 5xx with a
    /// `Retry-After` of whole seconds).
    ///
    /// # Errors
    /// No answer came within the hook's timeout, or no connection could be made.
    pub async fn call(&self, review: &Review, hook: &Hook) -> Result<Answer, CallError> {
        let called = tokio::time::timeout(hook.budget(), self.call_with_retries(review, hook));
        called.await.unwrap_or_else(|_| Err(CallError::Deadline { url: self.url(hook) }))
    }

    async fn call_with_retries(&self, review: &Review, hook: &Hook) -> Result<Answer, CallError> {
        let mut left = self.retries;
        loop {
            let (answer, retry_after) = self.call_with_redirects(review, hook).await?;
            let pause = pause(answer.status, retry_after.as_deref()).filter(|_| left > 0);
            let Some(pause) = pause else { return Ok(answer) };
            left -= 1;
            self.retried.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(pause).await;
        }
    }

    /// One request and its redirects; returns the answer and its `Retry-After`.
    async fn call_with_redirects(
        &self,
        review: &Review,
        hook: &Hook,
    ) -> Result<(Answer, Option<String>), CallError> {
        let mut redirects = Redirects::new(&self.authority, hook.request_target());
        loop {
            let (answer, headers) = self.send(review, &redirects, hook).await?;
            let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
            if !redirects.follow(answer.status, header(LOCATION)) {
                let retry_after = header(RETRY_AFTER).map(str::to_owned);
                return Ok((answer, retry_after));
            }
        }
    }

    /// Sends one request; returns the answer and its headers.
    async fn send(
        &self,
        review: &Review,
        to: &Redirects<'_>,
        hook: &Hook,
    ) -> Result<(Answer, HeaderMap), CallError> {
        let url = || self.url(hook);
        let request = self.request(review, to).map_err(|error| CallError::broken(url(), error))?;
        let (response, connection) = self.connections.send(request, url).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| CallError::broken(url(), error))?;
        self.connections.idle.keep(connection);
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
