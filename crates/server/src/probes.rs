//! The plain port: `/livez`, `/readyz`, `/metrics`.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::certificate::PresentCertificate;
use crate::connection::Respond;
use crate::refusal::text;
use crate::shutdown::Phases;

/// What is still missing, in a few words each.
pub(crate) type Conditions = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// What must hold before hooks are asked.
#[derive(Clone)]
pub(crate) struct Readiness {
    pub(crate) certificate: Arc<dyn PresentCertificate>,
    pub(crate) conditions: Conditions,
}

impl Readiness {
    /// What is still missing; nothing when ready. A drain does not count: it answers normally.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = (self.conditions)();
        missing.extend(self.certificate.missing());
        missing
    }
}

/// Writes metrics as text.
#[derive(Clone)]
pub(crate) struct Metrics {
    pub(crate) content_type: &'static str,
    pub(crate) write: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Everything that is served without TLS.
#[derive(Clone)]
pub(crate) struct Probes {
    pub(crate) readiness: Readiness,
    /// What holds `/readyz` back, and no hook.
    pub(crate) probed: Conditions,
    /// The lines of `/readyz?verbose`.
    pub(crate) report: Conditions,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) phases: Phases,
}

impl Respond for Probes {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD");
        }
        match (request.uri().path(), &self.metrics) {
            ("/livez", _) => text(StatusCode::OK, "ok"),
            ("/readyz", _) => self.ready(request.uri().query().is_some_and(is_verbose)),
            ("/metrics", Some(metrics)) => {
                let mut response = Response::new(Full::new(Bytes::from((metrics.write)())));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics.content_type));
                response
            }
            _ => text(StatusCode::NOT_FOUND, "here are /livez, /readyz and, where it is set up, /metrics"),
        }
    }
}

impl Probes {
    fn ready(&self, verbose: bool) -> Response<Full<Bytes>> {
        let mut missing = self.readiness.missing();
        missing.extend((self.probed)());
        if self.phases.is_draining() {
            missing.push("draining".to_owned());
        }
        let (status, answer) = if missing.is_empty() {
            (StatusCode::OK, "ok".to_owned())
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}", missing.join(", ")))
        };
        let report = if verbose { (self.report)() } else { Vec::new() };
        let lines: Vec<_> = std::iter::once(answer).chain(report).collect();
        text(status, lines.join("\n"))
    }
}

/// As kube-apiserver's own `/readyz?verbose`.
fn is_verbose(query: &str) -> bool {
    query.split('&').any(|part| part == "verbose" || part.starts_with("verbose="))
}
