//! Hooks for Secrets, with every kind of handler. The annotation `do` of the object selects the behaviour.

use std::future::pending;
use std::time::Instant;

use k8s_openapi::api::core::v1::Secret;
use kube::core::{DynamicObject, PartialObjectMeta};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use vestibule::Operation::{Create, Delete, Update};
use vestibule::admission::{Handler, HandlerFuture, Outcome, Request, Verdict};
use vestibule::patch::{Operation, Pointer, View};
use vestibule::{
    App, Change, Context, FailurePolicy, Mutate, RawObject, Reject, Rule, Validate, deny, on_raw, on_rules,
};

/// Texts that only the user may see.
const DENIAL: &str = "canary-denial";
const WARNING: &str = "canary-warning";
const AUDIT: &str = "canary-audit";
/// The text that mutations add.
const PATCH: &str = "canary-patch";

/// A type defined by the author of a webhook.
#[derive(Clone, Serialize, Deserialize)]
struct Own {
    metadata: Value,
    data: std::collections::BTreeMap<String, String>,
}

pub(crate) fn hooks(app: App) -> App {
    let app = of::<Secret>(app, "secret");
    let app = of::<DynamicObject>(app, "dynamic");
    let app = of::<PartialObjectMeta<Secret>>(app, "meta");
    let app = of::<Value>(app, "value");
    let app = of::<RawObject>(app, "raw-object");
    let app = of::<Own>(app, "own");
    app.mutate(
        "chain",
        on_rules(rules()).failure_policy(FailurePolicy::Fail),
        same::<Secret>.then(change::<Secret>),
    )
    .validate(
        "chain-guard",
        on_rules(rules()).failure_policy(FailurePolicy::Fail),
        fine::<Secret>.then(judge::<Secret>),
    )
    .mutate_raw("raw", on_raw(rules()).failure_policy(FailurePolicy::Fail), Borrowed { patch: Some(patch()) })
    .validate_raw(
        "raw-guard",
        on_raw(rules()).failure_policy(FailurePolicy::Fail),
        Borrowed { patch: None },
    )
}

fn of<T>(app: App, name: &str) -> App
where
    T: Clone + Serialize + DeserializeOwned + Send + 'static,
{
    app.mutate(name, on_rules::<T>(rules()).failure_policy(FailurePolicy::Fail), change::<T>).validate(
        &format!("{name}-guard"),
        on_rules::<T>(rules()).failure_policy(FailurePolicy::Fail),
        judge::<T>,
    )
}

fn rules() -> [Rule; 1] {
    [Rule::new("v1", "secrets", [Create, Update, Delete])]
}

async fn same<T: Send>(object: T, _: Context) -> Result<T, Reject> {
    Ok(object)
}

async fn fine<T: Send>(_: Change<T>, _: Context) -> Result<(), Reject> {
    Ok(())
}

async fn change<T: Serialize + DeserializeOwned + Send>(object: T, context: Context) -> Result<T, Reject> {
    decide(serde_json::to_string(&object)?, &context).await?;
    let mut object = serde_json::to_value(&object)?;
    object["metadata"]["annotations"]["added"] = PATCH.into();
    Ok(serde_json::from_str(&object.to_string())?)
}

async fn judge<T: Serialize + Send>(change: Change<T>, context: Context) -> Result<(), Reject> {
    let object = match change {
        Change::Create { new } | Change::Update { new, .. } => new,
        Change::Delete { old } => old,
        _ => return Ok(()),
    };
    decide(serde_json::to_string(&object)?, &context).await
}

async fn decide(words: String, context: &Context) -> Result<(), Reject> {
    tracing::trace!("decides");
    context.warn(WARNING);
    context.audit("noted", AUDIT);
    let wish = context.raw().or(context.old_raw()).map(RawObject::view).and_then(wish).unwrap_or_default();
    match &*wish {
        "deny" => Err(deny(DENIAL).field(DENIAL, DENIAL)),
        // The error of serde quotes the text.
        "fail" => Ok(serde_json::from_value(Value::String(words))?),
        "panic" => panic!("cannot handle {words}"),
        "wait" => pending().await,
        _ => Ok(()),
    }
}

fn wish(object: View<'_>) -> Option<String> {
    let wish = object.get("metadata")?.get("annotations")?.get("do")?;
    Some(wish.as_str()?.into_owned())
}

fn patch() -> Vec<Operation> {
    let path = Pointer::root().child("metadata").child("annotations").child("added");
    serde_json::value::to_raw_value(PATCH)
        .map(|value| vec![Operation::Add { path, value: value.into() }])
        .unwrap_or_default()
}

struct Borrowed {
    patch: Option<Vec<Operation>>,
}

impl Handler for Borrowed {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        let object = request.object.or(request.old_object);
        Box::pin(async move {
            let mut verdict: Verdict = match object.map(View::of).and_then(wish).as_deref() {
                Some("deny") => Outcome::from(deny(DENIAL)).into(),
                Some("fail") => Outcome::from(Reject::fault("it failed")).into(),
                Some("panic") => {
                    panic!("cannot handle {}", object.map_or("", RawValue::get))
                }
                Some("wait") => pending().await,
                _ => match &self.patch {
                    Some(patch) if request.object.is_some() => Verdict::mutated(patch.clone()),
                    _ => Verdict::allowed(),
                },
            };
            verdict.warnings.push(WARNING);
            verdict.audit.insert("noted", AUDIT);
            verdict
        })
    }
}
