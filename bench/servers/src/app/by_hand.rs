//! The change as operations, without decoding the object.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use serde_json::value::to_raw_value;
use vestibule::admission::{Fault, FaultKind, Handler, HandlerFuture, Outcome, Request};
use vestibule::patch::{Operation, View};

/// A handler that reads the request itself.
pub(super) struct ByHand;

impl Handler for ByHand {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let patch = request.document().map(|object| operations(object?.view()));
        Box::pin(async {
            let outcome = match patch {
                None => Outcome::Allowed,
                Some(Ok(operations)) => Outcome::Mutated(operations.into()),
                Some(Err(error)) => Outcome::Fault(Fault::new(FaultKind::Error, error)),
            };
            outcome.into()
        })
    }
}

/// The operations of the change.
pub(crate) fn operations(object: View<'_>) -> anyhow::Result<Vec<Operation>> {
    let has =
        |parent: &str, member: &str| object.get(parent).is_some_and(|parent| parent.get(member).is_some());
    let mount = json!({"name": "agent", "mountPath": "/agent"});
    let sidecar = json!({
        "name": "agent", "image": "registry.example.com/agent:1.4", "args": ["--listen=:15000"], "volumeMounts": [mount],
    });
    let volume = json!({"name": "agent", "emptyDir": {}});
    Ok(vec![
        if has("metadata", "annotations") {
            add("/metadata/annotations/bench.example.com~1agent", &json!("1.4"))?
        } else {
            add("/metadata/annotations", &json!({"bench.example.com/agent": "1.4"}))?
        },
        add("/spec/containers/-", &sidecar)?,
        if has("spec", "volumes") {
            add("/spec/volumes/-", &volume)?
        } else {
            add("/spec/volumes", &json!([volume]))?
        },
    ])
}

fn add(path: &str, value: &serde_json::Value) -> anyhow::Result<Operation> {
    Ok(Operation::Add { path: path.parse()?, value: Arc::from(to_raw_value(value)?) })
}
