//! The answers to `/livez`, `/readyz`, `/startupz` and `/metrics`.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::connection::Respond;
use crate::readiness::{Findings, Readiness};
use crate::refusal::text;

/// Lines for people.
pub(crate) type Lines = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// Writes metrics as text.
#[derive(Clone)]
pub(crate) struct Metrics {
    pub(crate) content_type: &'static str,
    pub(crate) write: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The state behind the probes.
#[derive(Clone)]
pub(crate) struct Probes {
    pub(crate) readiness: Arc<Readiness>,
    /// Further lines of `/readyz?verbose`.
    pub(crate) report: Lines,
    pub(crate) metrics: Option<Metrics>,
}

impl Respond for Probes {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed: GET or HEAD");
            // Required by RFC 9110 section 15.5.6.
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let verbose = request.uri().query().is_some_and(is_verbose);
        match (request.uri().path(), &self.metrics) {
            ("/livez", _) if verbose => text(StatusCode::OK, format!("ok\n{}", self.readiness.process())),
            ("/livez", _) => text(StatusCode::OK, "ok"),
            ("/readyz", _) => self.ready(verbose),
            ("/startupz", _) => self.started(verbose),
            ("/metrics", Some(metrics)) => {
                let mut response = Response::new(Full::new(Bytes::from((metrics.write)())));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics.content_type));
                response
            }
            _ => text(
                StatusCode::NOT_FOUND,
                "not found: this port serves /livez, /readyz, /startupz and, if it is set up, /metrics",
            ),
        }
    }
}

impl Probes {
    fn ready(&self, verbose: bool) -> Response<Full<Bytes>> {
        let findings = self.readiness.check();
        self.answer(findings.missing.is_empty(), "not ready", findings, verbose)
    }

    /// Stays `ok` once all conditions held at the same time; later changes show in `/readyz`.
    fn started(&self, verbose: bool) -> Response<Full<Bytes>> {
        let findings = self.readiness.check();
        self.answer(self.readiness.has_been_ready(), "not started", findings, verbose)
    }

    fn answer(
        &self,
        is_fine: bool,
        otherwise: &str,
        findings: Findings,
        verbose: bool,
    ) -> Response<Full<Bytes>> {
        let (status, answer) = if is_fine {
            (StatusCode::OK, "ok".to_owned())
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{otherwise}: {}", findings.missing.join(", ")))
        };
        let mut lines = vec![answer];
        if verbose {
            lines.extend(findings.lines);
            lines.extend((self.report)());
        }
        text(status, lines.join("\n"))
    }
}

/// `?verbose` as kube-apiserver reads it.
fn is_verbose(query: &str) -> bool {
    query.split('&').any(|part| part == "verbose" || part.starts_with("verbose="))
}
