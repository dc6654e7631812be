//! The status of rules and settings that are objects, and the columns of `kubectl get`.

use serde_json::{Value, json};

use crate::well_known::CustomResource;

/// Heading, type and path of a column.
type Column = (&'static str, &'static str, &'static str);

const READY: &str = ".status.conditions[?(@.type==\"InForce\")].status";
const ACCEPTED: Column = ("Accepted", "string", ".status.conditions[?(@.type==\"Accepted\")].status");
const LAGGING: Column = ("Lagging", "integer", ".status.lagging");
const AGE: Column = ("Age", "date", ".metadata.creationTimestamp");

pub(super) const RULE_COLUMNS: &[Column] = &[
    ("Targets", "string", ".spec.targets"),
    ("Opt-In", "string", ".spec.optIn"),
    ("Percent", "integer", ".spec.rollout.percent"),
    ACCEPTED,
    ("Ready", "string", READY),
    ("Injected", "integer", ".status.counts.injected"),
    LAGGING,
    AGE,
];

/// A rule of a namespace has neither `targets` nor `optIn`.
pub(super) const NAMESPACED_COLUMNS: &[Column] = RULE_COLUMNS.split_at(2).1;

pub(super) const SETTINGS_COLUMNS: &[Column] =
    &[("Mode", "string", ".spec.mode"), ACCEPTED, ("Ready", "string", READY), AGE];

pub(super) fn columns(columns: &[Column]) -> Value {
    columns.iter().map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path})).collect()
}

/// The schema of `status`. Settings have no counts.
pub(super) fn schema(resource: CustomResource) -> Value {
    let mut schema: Value = serde_json::from_str(include_str!("status.json")).unwrap_or_default();
    if let Some(properties) = schema["properties"].as_object_mut()
        && resource == CustomResource::InjectorSettings
    {
        properties.retain(|name, _| !matches!(name.as_str(), "counts" | "lagging"));
    }
    schema
}
