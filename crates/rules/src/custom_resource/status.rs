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
    let mut properties = json!({
        "injector": {
            "type": "string",
            "description": "The namespace of the injector that wrote the status. Another one writes it when that has ended.",
        },
        "observedGeneration": integer("The generation that the conditions are about."),
        "conditions": {
            "type": "array",
            "description": "`Accepted`: whether the injector can use the object, with its findings. `InForce`: whether every \
                            replica that reports acts by this generation.",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                "properties": {
                    "type": {"type": "string", "description": "`Accepted` or `InForce`."},
                    "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
                    "observedGeneration": integer("The generation that it is about."),
                    "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When `status` last changed."},
                    "reason": {"type": "string", "description": "One word for programs."},
                    "message": {"type": "string", "description": "The findings, or the number of replicas."},
                },
            },
        },
    });
    if resource != CustomResource::InjectorSettings {
        properties["counts"] = counts();
        properties["lagging"] =
            integer("Running pods that carry another version of the rule; up to some minutes late.");
    }
    json!({"type": "object", "description": "Written by the injector.", "properties": properties})
}

fn integer(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "description": description})
}

fn counts() -> Value {
    json!({
        "type": "object",
        "description": "What became of the objects that the rule was evaluated for, on all replicas; up to some minutes late.",
        "properties": {
            "since": {"type": "string", "format": "date-time", "description": "When counting began."},
            "injected": integer("Objects that the rule changed."),
            "failed": integer("Objects that the rule could not be applied to, or that were denied because of it."),
            "lastFailed": {"type": "string", "format": "date-time", "description": "When a failure was last counted."},
            "leftOut": {
                "type": "object",
                "description": "Objects that the rule left alone, by reason: `opted_out`, `labels_not_matched` and so on.",
                "additionalProperties": {"type": "integer", "format": "int64"},
            },
        },
    })
}
