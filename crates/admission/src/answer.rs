//! The answer: the HTTP status and bytes for kube-apiserver (docs/apiserver.md, Answers).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::one_line::one_line;
use crate::{
    AuditAnnotations, Cause, Denial, Fault, FaultKind, OnFault, Outcome, Review, ReviewKind, Verdict, Version,
};

/// The approximate number of bytes of a response without its patch or objects.
pub(crate) const REST_OF_A_RESPONSE: usize = 512;

/// The ends of a response and of its envelope.
const ENDS: &[u8] = b"}}";

/// The answer over HTTP, and the facts about it that may be logged.
#[non_exhaustive]
pub struct Answer {
    /// 200 with a review; 500 for a fault; 503 if the hook is not ready.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// Whole seconds for `Retry-After`, after which kube-apiserver retries within its deadline.
    pub retry_after_seconds: Option<u32>,
    /// A review, or one line of text.
    pub body: Vec<u8>,
    /// The decision, without a value of the object.
    pub decision: Decision,
    /// The type of the error behind a fault.
    pub error: Option<&'static str>,
}

/// A decision, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The request goes on unchanged.
    Allowed,
    /// The request goes on, changed by this many operations.
    Mutated(usize),
    /// The request is refused with this code.
    Denied(u16),
    /// No decision was made, because of a fault.
    Fault(FaultKind),
    /// The hook is not ready, and the caller is asked to retry.
    NotReady,
    /// This many objects are in the desired version.
    Converted(usize),
    /// An object cannot be converted into the desired version.
    Unconvertible,
}

impl Decision {
    /// One lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Mutated(_) => "mutated",
            Self::Denied(_) => "denied",
            Self::Fault(_) => "fault",
            Self::NotReady => "not_ready",
            Self::Converted(_) => "converted",
            Self::Unconvertible => "unconvertible",
        }
    }
}

impl Answer {
    pub(crate) fn new(review: &Review<'_>, on_fault: OnFault, verdict: &Verdict) -> Self {
        match &verdict.outcome {
            Outcome::Mutated(patch) if !patch.is_empty() => {
                let json = patch.to_json();
                let response =
                    Response { patch: Some(&json), patch_type: Some("JSONPatch"), ..Response::default() };
                Self::review(review, verdict, Decision::Mutated(patch.len()), response)
            }
            Outcome::Allowed | Outcome::Mutated(_) => {
                Self::review(review, verdict, Decision::Allowed, Response::default())
            }
            Outcome::Denied(denial) => Self::review(
                review,
                verdict,
                Decision::Denied(denial.code_to_send()),
                Response::refusing(denial),
            ),
            Outcome::Fault(fault) => {
                let answer = match on_fault {
                    OnFault::Deny => {
                        let denial = Denial::new(fault.message.clone()).code(500).reason("InternalError");
                        Self::review(
                            review,
                            verdict,
                            Decision::Fault(fault.kind),
                            Response::refusing(&denial),
                        )
                    }
                    OnFault::AllowWithWarning => {
                        let mut verdict = verdict.clone();
                        // The first one, because the last of many are not sent.
                        let others = std::mem::take(&mut verdict.warnings);
                        verdict.warnings.push(&format!("allowed without a decision: {}", fault.message));
                        others.iter().for_each(|warning| verdict.warnings.push(warning));
                        Self::review(review, &verdict, Decision::Fault(fault.kind), Response::default())
                    }
                    OnFault::FailurePolicy => Self::fault(fault),
                };
                Self { error: fault.error, ..answer }
            }
            Outcome::NotReady(missing) => {
                let text = format!("not ready: {}", one_line(missing, 256));
                Self { retry_after_seconds: Some(1), ..Self::text(503, text, Decision::NotReady) }
            }
        }
    }

    fn fault(fault: &Fault) -> Self {
        Self::text(500, fault.message.clone(), Decision::Fault(fault.kind))
    }

    fn text(status: u16, text: String, decision: Decision) -> Self {
        Self::of(status, "text/plain; charset=utf-8", text.into_bytes(), decision)
    }

    fn review(review: &Review<'_>, verdict: &Verdict, decision: Decision, response: Response<'_>) -> Self {
        let response = Response {
            uid: &review.request.uid,
            warnings: verdict.warnings.to_lines(),
            audit_annotations: Some(&verdict.audit).filter(|audit| !audit.is_empty()),
            ..response
        };
        let patch = response.patch;
        let length = patch.map_or(0, base64_length) + REST_OF_A_RESPONSE;
        let mut answer = Self::json(ReviewKind::Admission, review.version, response, length, decision);
        if let Some(patch) = patch
            && answer.status == 200
        {
            add_patch(&mut answer.body, patch);
        }
        answer
    }

    /// An answer that contains a review of this `kind` and `version`. Its body has about `length` bytes.
    pub(crate) fn json(
        kind: ReviewKind,
        version: Version,
        response: impl Serialize,
        length: usize,
        decision: Decision,
    ) -> Self {
        let envelope = Envelope { api_version: kind.api_version(version), kind: kind.as_str(), response };
        let mut body = Vec::with_capacity(length);
        match serde_json::to_writer(&mut body, &envelope) {
            Ok(()) => Self::of(200, "application/json", body, decision),
            Err(_) => Self::fault(&Fault::new(FaultKind::Error, "the review cannot be written as JSON")),
        }
    }

    fn of(status: u16, content_type: &'static str, body: Vec<u8>, decision: Decision) -> Self {
        Self { status, content_type, retry_after_seconds: None, body, decision, error: None }
    }
}

/// The review in an answer, of an admission or a conversion.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<R> {
    api_version: &'static str,
    kind: &'static str,
    response: R,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    /// The patch as JSON, which [`add_patch`] writes.
    #[serde(skip)]
    patch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<&'a AuditAnnotations>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    status: &'static str,
    message: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'a>>,
    code: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    causes: &'a [Cause],
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<i32>,
}

impl Default for Response<'_> {
    fn default() -> Self {
        Self {
            uid: "",
            allowed: true,
            status: None,
            patch: None,
            patch_type: None,
            audit_annotations: None,
            warnings: Vec::new(),
        }
    }
}

impl<'a> Response<'a> {
    fn refusing(denial: &'a Denial) -> Self {
        let Denial { reason, message, causes, .. } = denial;
        let retry_after_seconds = denial.seconds_to_send();
        let details = (!causes.is_empty() || retry_after_seconds.is_some())
            .then_some(Details { causes, retry_after_seconds });
        let status = Status { status: "Failure", message, reason, details, code: denial.code_to_send() };
        Self { allowed: false, status: Some(status), ..Self::default() }
    }
}

/// Adds the patch to the review in `body`, as the last member of its response. The patch is most of an answer: it is encoded into
/// the body itself, without a copy.
fn add_patch(body: &mut Vec<u8>, patch: &str) {
    // The response is the last member of the envelope: both end here.
    body.truncate(body.len().saturating_sub(ENDS.len()));
    body.extend_from_slice(br#","patch":""#);
    let start = body.len();
    body.resize(start + base64_length(patch), b'=');
    // The slice has exactly the length of the code, the only condition of this call.
    let _ = STANDARD.encode_slice(patch, body.get_mut(start..).unwrap_or_default());
    body.push(b'"');
    body.extend_from_slice(ENDS);
}

fn base64_length(text: &str) -> usize {
    text.len().div_ceil(3) * 4
}

#[cfg(test)]
mod tests;
