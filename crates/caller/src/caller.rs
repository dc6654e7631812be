//! The HTTPS client that kube-apiserver is to a webhook.

mod connection;
mod error;
mod retry;
mod tls;

use std::net::SocketAddr;

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use rustls_pki_types::ServerName;

use crate::{Admission, Answer, FailurePolicy, Hook, Review, judge};
use connection::Connections;
pub use error::{CallError, SetupError};
use retry::Retries;

/// The port in `NAME.NS.svc:PORT` where a registration names none.
const SERVICE_PORT: u16 = 443;

/// Calls one webhook server as kube-apiserver does: HTTP/1.1 over TLS to a Service's name,
/// up to 25 idle connections kept for 90 s, no TLS resumption.
///
/// Three things it leaves out: redirects are not followed, answers are not asked for compressed, and an empty CA bundle
/// does not mean the system's roots. It needs a tokio runtime with I/O and time.
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
}

impl Caller {
    /// A caller of the server at `address`, whose certificate must be valid for `server_name` (`NAME.NS.svc`) and
    /// signed by a certificate in `ca_bundle` (PEM; text between the certificates is skipped).
    ///
    /// # Errors
    /// Where the bundle holds no certificate, or the name is no DNS name or IP address.
    pub fn new(address: SocketAddr, server_name: &str, ca_bundle: &[u8]) -> Result<Self, SetupError> {
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| SetupError::ServerName { name: server_name.to_owned() })?;
        let authority = match &name {
            ServerName::IpAddress(ip) => SocketAddr::new((*ip).into(), address.port()).to_string(),
            _ => format!("{server_name}:{SERVICE_PORT}"),
        };
        let connector = tls::connector(ca_bundle)?;
        Ok(Self { connections: Connections::new(address, name, connector), authority })
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
        let mut retries = Retries::default();
        loop {
            let (answer, retry_after) = self.exchange(review, hook).await?;
            match retries.pause(answer.status, retry_after.as_deref()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Ok(answer),
            }
        }
    }

    /// One request, one answer and its `Retry-After`.
    async fn exchange(&self, review: &Review, hook: &Hook) -> Result<(Answer, Option<String>), CallError> {
        let url = || self.url(hook);
        let request = self.request(review, hook).map_err(|error| CallError::broken(url(), error))?;
        let (response, connection) = self.connections.send(request, url).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| CallError::broken(url(), error))?;
        self.connections.keep(connection);
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let answer = Answer {
            status: head.status.as_u16(),
            content_type: header(CONTENT_TYPE),
            body: body.to_bytes().into(),
        };
        Ok((answer, header(http::header::RETRY_AFTER)))
    }

    fn request(&self, review: &Review, hook: &Hook) -> http::Result<Request<Full<bytes::Bytes>>> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(hook.request_target())
            .header(HOST, &self.authority)
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(ACCEPT_ENCODING, "identity");
        if let Some(traceparent) = review.traceparent() {
            request = request.header("traceparent", traceparent);
        }
        request.body(Full::new(review.shared_body()))
    }

    fn url(&self, hook: &Hook) -> String {
        format!("https://{}{}", self.authority, hook.request_target())
    }
}
