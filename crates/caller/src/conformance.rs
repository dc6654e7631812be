//! Judges the answer of a webhook as kube-apiserver does, with its texts.
//!
//! Schemas are not known here: only `apiVersion` and `kind` of a patched object are checked. kube-apiserver decodes it into its
//! type, drops unknown fields, and validates the rest.
//!
//! Patches are applied as kube-apiserver's library applies them, which accepts more than RFC 6902; [`Allowed::leniency`] says when an
//! answer relies on that.

mod audit;
mod body;
mod json;
mod patch;
mod response;
mod status;
mod warnings;

use self::response::Response;
use crate::answer::Answer;
use crate::hook::Hook;
use crate::outcome::{Allowed, Denied, Failed, Outcome};
use crate::review::Review;

/// Judges an answer as kube-apiserver does.
pub fn judge(review: &Review, hook: &Hook, answer: &Answer) -> Outcome {
    evaluate(review, hook, answer).unwrap_or_else(|failed| Outcome::Failed(*failed))
}

fn evaluate(review: &Review, hook: &Hook, answer: &Answer) -> Result<Outcome, Box<Failed>> {
    let failed = |why: &str| Box::new(Failed::calling(hook, why));
    let failed_to_call = |why: String| failed(&format!("failed to call webhook: {why}"));
    let body = body::read(review.version(), answer).map_err(failed_to_call)?;
    let response = response::decode(&body, review.version()).map_err(failed_to_call)?;
    let response = response::verify(&body, response, review, hook.kind())
        .map_err(|why: String| failed(&format!("received invalid webhook response: {why}")))?;
    if !response.allowed {
        return Ok(Outcome::Denied(deny(response, hook)));
    }
    let patched = patch::apply(&response, review.object(), hook);
    let warnings = warnings::classify(response.warnings);
    let audit_annotations = audit::classify(hook.name(), response.audit_annotations);
    let (object, patch, leniency) = match patched {
        Ok(Some(patched)) => (Some(patched.object), Some(patched.patch), patched.leniency),
        Ok(None) => (review.object().cloned(), None, None),
        Err(failed) => return Err(Box::new(Failed { warnings, audit_annotations, ..*failed })),
    };
    Ok(Outcome::Allowed(Allowed { object, patch, leniency, warnings, audit_annotations }))
}

/// A denial has a status of 400 or more, and its message names the webhook.
fn deny(response: Response, hook: &Hook) -> Denied {
    let status = response.status;
    let denied_by = format!("admission webhook {:?} denied the request", hook.name());
    let message = if !status.message.is_empty() {
        format!("{denied_by}: {}", status.message)
    } else if !status.reason.is_empty() {
        format!("{denied_by}: {}", status.reason)
    } else {
        format!("{denied_by} without explanation")
    };
    Denied {
        code: if status.code < 400 { 400 } else { status.code },
        reason: status.reason,
        message,
        causes: status.causes,
        retry_after_seconds: (status.retry_after_seconds > 0).then_some(status.retry_after_seconds),
        warnings: warnings::classify(response.warnings),
        audit_annotations: audit::classify(hook.name(), response.audit_annotations),
    }
}
