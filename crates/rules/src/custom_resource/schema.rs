//! Structural schemas of the tables of the format.

use serde_json::{Map, Value, json};
use vestibule_patch::{List, Schema};

use super::validation;
use crate::format::{self, Field, Kind, Table};
use crate::schema::{integer, is_list_of_values};

/// Writes schemas without references, which a CustomResourceDefinition cannot have.
pub(super) struct Writer<'t> {
    /// The schema of pods.
    pub(super) pod: Schema<'t>,
    /// Whether the definition is for rules of namespaces, without the fields that only an Injection has.
    pub(super) namespaced: bool,
}

impl Writer<'_> {
    /// The schema of a whole document. The API server itself defines `apiVersion`, `kind` and `metadata`.
    pub(super) fn document(&self, table: &'static Table) -> Value {
        let spec = table.field("spec");
        json!({
            "type": "object",
            "description": spec.map(|field| field.about).unwrap_or_default(),
            "required": ["spec"],
            "properties": {"spec": spec.map(|field| self.field(field))},
            "x-kubernetes-validations": validation::of_name(),
        })
    }

    fn table(&self, table: &'static Table) -> Value {
        let mut schema = json!({"type": "object", "properties": self.fields(table)});
        let required = table.required();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if let Some(rules) = validation::of(table, self.namespaced) {
            schema["x-kubernetes-validations"] = rules;
        }
        schema
    }

    fn fields(&self, table: &'static Table) -> Map<String, Value> {
        let fields = table.supported_in(self.namespaced);
        fields.map(|field| (field.name.to_owned(), self.field(field))).collect()
    }

    fn field(&self, field: &'static Field) -> Value {
        let mut schema = self.kind(field.kind);
        if field.not_empty {
            schema["minItems"] = 1.into();
        }
        schema["description"] = description(field).into();
        schema
    }

    fn kind(&self, kind: Kind) -> Value {
        match kind {
            Kind::Text | Kind::Expression => json!({"type": "string"}),
            Kind::Boolean => json!({"type": "boolean"}),
            Kind::Integer(least, most) => {
                let mut schema = integer(least, most);
                schema["format"] = "int64".into();
                schema
            }
            Kind::Word(words) => json!({"type": "string", "enum": words.keywords()}),
            Kind::Map(table) => self.table(table),
            Kind::List(item) => {
                json!({"type": "array", "maxItems": validation::MAX_ITEMS, "items": self.kind(*item)})
            }
            Kind::Entries(value) => json!({"type": "object", "additionalProperties": self.kind(*value)}),
            // A structural schema cannot have two types.
            Kind::Either(_) | Kind::TextOrExpression => anything(),
            Kind::Fragment(path, ours) => {
                let below = path.iter().fold(self.pod, |schema, member| schema.field(member));
                self.fragment(path, below, ours)
            }
        }
    }

    /// A part of a pod, with the fields that the format adds.
    fn fragment(&self, path: &[&str], schema: Schema<'_>, ours: Option<&'static Table>) -> Value {
        match schema.list() {
            List::Unknown if schema.fields().is_empty() && ours.is_none() => anything(),
            _ if is_list_of_values(schema) && ours.is_none() => anything(),
            List::Unknown => self.part(path, schema, ours),
            _ => json!({
                "type": "array",
                "maxItems": validation::MAX_ITEMS,
                "items": self.part(path, schema.item(), ours),
            }),
        }
    }

    /// A map of the pod. Its fields are listed for `kubectl explain`, and any other field is kept.
    fn part(&self, path: &[&str], schema: Schema<'_>, ours: Option<&'static Table>) -> Value {
        let Some(ours) = ours else { return anything() };
        let mut fields = Map::new();
        for field in schema.fields() {
            if ours.fields.iter().any(|own| own.name == field.name && own.refused) {
                continue;
            }
            let below = schema.field(field.name);
            let is_list_of_items = below.list() != List::Unknown && !is_list_of_values(below);
            let mut below =
                if is_list_of_items { json!({"type": "array", "items": anything()}) } else { anything() };
            below["description"] = about_of_pod_field(path, field.name).into();
            fields.insert(field.name.to_owned(), below);
        }
        fields.extend(self.fields(ours));
        json!({"type": "object", "properties": fields, "x-kubernetes-preserve-unknown-fields": true})
    }
}

/// Accepts every value: an expression, a text, or a part of a pod that this version does not know.
fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

/// The description of a field with its default and example.
fn description(field: &Field) -> String {
    let mut text = field.about.to_owned();
    if !text.ends_with('.') {
        text.push('.');
    }
    if let Some(default) = field.default {
        text.push_str(&format!(" Default: `{default}`."));
    }
    if let Some(example) = field.example {
        text.push_str(&format!(" Example: `{example}`."));
    }
    let is_boolean_in_yaml = |word: &&str| ["on", "off"].contains(word);
    if let Kind::Word(words) = field.kind
        && words.keywords().iter().any(is_boolean_in_yaml)
    {
        text.push_str(" In quotes, since kubectl reads `on` and `off` as booleans.");
    }
    text
}

/// The documentation of a field of pods: the format's own for fields of containers, else a reference to the pod's.
fn about_of_pod_field(path: &[&str], name: &str) -> String {
    let of_containers = path.ends_with(&["containers"]) || path.ends_with(&["initContainers"]);
    match format::BLOCK.field(name).filter(|field| of_containers && !field.refused) {
        Some(field) => description(field),
        None => format!("As in pods: `kubectl explain pod.{}.{name}`.", path.join(".")),
    }
}
