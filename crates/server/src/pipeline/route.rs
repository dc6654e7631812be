//! The hook or conversion that a request is for.

use std::time::Duration;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Method};
use vestibule_admission::{ConversionHook, Hook};

use super::Pipeline;
use crate::refusal::{Refusal, Refused};

/// The target of a path, the longest time that its answer may take, and its largest request body.
pub(crate) struct Route {
    pub(crate) target: Target,
    pub(crate) max_body: usize,
    pub(crate) timeout: Duration,
}

pub(crate) enum Target {
    Review(Hook),
    Conversion(ConversionHook),
}

impl Pipeline {
    /// The route of the path, if the request is one that webhooks take.
    pub(super) fn route(&self, head: &Parts) -> Result<&Route, Refused> {
        let Some(route) = self.routes.get(head.uri.path()) else {
            let why = if self.ask_elsewhere {
                "service unavailable: no webhook is served at this path here; another replica may serve it"
            } else {
                "not found: no webhook is served at this path"
            };
            return Err(Refusal::UnknownPath.because(why).or_elsewhere(self.ask_elsewhere));
        };
        if head.method != Method::POST {
            return Err(Refusal::Method.because("method not allowed: a webhook takes POST"));
        }
        let unsupported = |why| Err(Refusal::MediaType.because(why));
        if !is_json(&head.headers) {
            return unsupported("unsupported media type: a webhook takes application/json");
        }
        // Decompressed, a small body may be larger than every limit.
        if head.headers.contains_key(CONTENT_ENCODING) {
            return unsupported("unsupported media type: a webhook takes no content encoding");
        }
        Ok(route)
    }
}

/// Whether the content type is JSON, with any parameters, or absent.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return true;
    };
    let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}
