//! Hooks that read the raw request.

use std::time::Instant;

use vestibule::Operation::{Connect, Create, Delete, Update};
use vestibule::admission::{Fault, FaultKind, Handler, HandlerFuture, Outcome, Request, Verdict};
use vestibule::patch::{self, View};
use vestibule::{App, FailurePolicy, Rule, on_raw};

pub(crate) fn hooks(app: App) -> App {
    let everything = || {
        let rules = [("v1", "pods"), ("v1", "pods/exec"), ("apps/v1", "deployments")];
        on_raw(
            rules.map(|(version, resource)| Rule::new(version, resource, [Create, Update, Delete, Connect])),
        )
        .failure_policy(FailurePolicy::Fail)
    };
    app.validate_raw("see", everything(), See).mutate_raw("patch", everything(), Patch)
}

/// Repeats the fields of the request in warnings.
struct See;

impl Handler for See {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        let kind = request.request_kind.as_ref().unwrap_or(&request.kind);
        let there = |member: Option<_>| if member.is_some() { "there" } else { "null" };
        let words = [
            format!("operation {}", request.operation),
            format!("kind {}", request.kind),
            format!("requestKind {kind}"),
            format!("name {}", request.name.as_deref().unwrap_or("none")),
            format!("object {}", there(request.object)),
            format!("oldObject {}", there(request.old_object)),
            format!("options {}", there(request.options)),
        ];
        Box::pin(async move {
            let mut verdict = Verdict::allowed();
            for line in words {
                verdict.warnings.push(&line);
            }
            verdict
        })
    }
}

/// Sends the patch in the annotation `patch` of the object or of the old object.
struct Patch;

impl Handler for Patch {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        Box::pin(async move { requested_patch(request).unwrap_or_else(Outcome::Fault).into() })
    }
}

fn requested_patch(request: &Request<'_>) -> Result<Outcome, Fault> {
    let object = request.object.or(request.old_object).map(View::of);
    let annotations = object.and_then(|object| object.get("metadata")?.get("annotations"));
    let Some(wish) = annotations.and_then(|annotations| annotations.get("patch")?.as_str()) else {
        return Ok(Outcome::Allowed);
    };
    let operations: Vec<patch::Operation> =
        serde_json::from_str(&wish).map_err(|_| Fault::new(FaultKind::Error, "no patch"))?;
    Ok(Outcome::Mutated(operations.into()))
}
