//! What kube-apiserver makes of an answer.
//!
//! One thing it cannot know: the schema. Of a patched object only `apiVersion` and `kind` are checked here; kube-apiserver
//! decodes it into its type, drops what that does not know, and validates the rest.
//!
//! Patches are applied as kube-apiserver's library applies them, which takes more than RFC 6902 does. What relies on that
//! is told in [`Allowed::leniency`].

mod audit;
mod body;
mod json;
mod patch;
mod response;
mod status;
mod warnings;

use crate::outcome::{Allowed, Denied, Failed, Outcome};
use crate::{Answer, Hook, Review};
use response::Response;

/// Judges an answer as kube-apiserver would.
pub fn judge(review: &Review, hook: &Hook, answer: &Answer) -> Outcome {
    weigh(review, hook, answer).unwrap_or_else(|failed| Outcome::Failed(*failed))
}

fn weigh(review: &Review, hook: &Hook, answer: &Answer) -> Result<Outcome, Box<Failed>> {
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
    let warnings = warnings::sort(response.warnings);
    let audit_annotations = audit::sort(hook.name(), response.audit_annotations);
    let (object, patch, leniency) = match patched {
        Ok(Some(patched)) => (Some(patched.object), Some(patched.patch), patched.leniency),
        Ok(None) => (review.object().cloned(), None, None),
        Err(failed) => return Err(Box::new(Failed { warnings, audit_annotations, ..*failed })),
    };
    Ok(Outcome::Allowed(Allowed { object, patch, leniency, warnings, audit_annotations }))
}

/// A denial never looks like a success, and always says who denied.
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
        warnings: warnings::sort(response.warnings),
        audit_annotations: audit::sort(hook.name(), response.audit_annotations),
    }
}
