//! The rule format as a JSON Schema, for editors.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use vestibule_patch::{List, Schema};

use crate::format::{self, Field, Kind, Table};
use crate::pod;
use crate::well_known::{API_VERSION, CustomResource};
use crate::yaml;

/// The JSON Schema (draft 2020-12) of rule documents, generated from the tables that the reader uses. `pod` is the
/// schema of pods: with it, editors also complete the fields of containers and volumes. Fields that `pod` does not
/// know are invalid in this schema; the reader keeps them with a warning.
///
/// An editor finds it by the first line of a file: `# yaml-language-server: $schema=rules.schema.json`.
///
/// ```
/// let schema = vestibule_rules::schema::json(vestibule_patch::Schema::unknown());
/// assert!(schema.contains("https://json-schema.org/draft/2020-12/schema") && schema.contains("optIn"));
/// ```
pub fn json(pod: Schema<'_>) -> String {
    let (definitions, tables, types) = (Map::new(), HashMap::new(), HashMap::new());
    let mut writer = Writer { pod, namespaced: false, definitions, tables, types };
    let [rule, settings, namespaced] = CustomResource::ALL.map(|resource| {
        writer.namespaced = resource.is_namespaced();
        writer.table(resource.table())
    });
    let is = |resource: CustomResource| json!({"properties": {"kind": {"const": resource.kind()}}, "required": ["kind"]});
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Rules of {API_VERSION}"),
        "type": "object",
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"enum": CustomResource::ALL.map(CustomResource::kind)},
        },
        "if": is(CustomResource::InjectorSettings),
        "then": settings,
        "else": {"if": is(CustomResource::NamespacedInjection), "then": namespaced, "else": rule},
        "$defs": writer.definitions,
    });
    format!("{schema:#}\n")
}

struct Writer<'t> {
    pod: Schema<'t>,
    /// Whether fields that only an Injection has are left out.
    namespaced: bool,
    definitions: Map<String, Value>,
    /// The names of the definitions written so far, by the address of their fields, and whether fields are left out. A type of the pod is keyed by the
    /// table that the format adds to it as well.
    tables: HashMap<(*const Field, bool), String>,
    types: HashMap<(*const vestibule_patch::Field, Option<*const Field>), String>,
}

impl<'t> Writer<'t> {
    /// A reference to the definition of a map of the format.
    fn table(&mut self, table: &'static Table) -> Value {
        let has_less = self.namespaced && table.fields.iter().any(|field| field.cluster_only);
        let address = (table.fields.as_ptr(), has_less);
        if !self.tables.contains_key(&address) {
            let name = self.free_name(&table.what.replace('`', "").replace(' ', "-"));
            self.tables.insert(address, name.clone());
            let fields = self.fields(table);
            let mut definition =
                json!({"type": "object", "properties": fields, "additionalProperties": false});
            let required = table.required();
            if !required.is_empty() {
                definition["required"] = json!(required);
            }
            self.definitions.insert(name, definition);
        }
        reference(self.tables.get(&address))
    }

    /// A name that no other definition has.
    fn free_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1;
        while self.definitions.contains_key(&name) {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        self.definitions.insert(name.clone(), Value::Null);
        name
    }

    fn fields(&mut self, table: &'static Table) -> Map<String, Value> {
        let mut fields = Map::new();
        for Field { name, kind, about, not_empty, default, .. } in table.supported_in(self.namespaced) {
            let mut schema = self.kind(*kind);
            if *not_empty {
                schema["minItems"] = 1.into();
            }
            schema["description"] = (*about).into();
            let default = default.and_then(|text| yaml::read("default", text).ok()?.pop());
            if let Some(default) = default.and_then(|value| serde_json::from_str(&value.to_json()).ok()) {
                schema["default"] = default;
            }
            fields.insert((*name).to_owned(), schema);
        }
        fields
    }

    fn kind(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Text | Kind::Expression => text(),
            Kind::Boolean => json!({"type": "boolean"}),
            Kind::TextOrExpression => json!({"anyOf": [text(), expression()]}),
            Kind::Integer(least, most) => integer(least, most),
            Kind::Word(words) => json!({"enum": words.keywords()}),
            Kind::Map(table) => self.table(table),
            Kind::List(item) => json!({"type": "array", "items": self.kind(*item)}),
            Kind::Entries(value) => json!({"type": "object", "additionalProperties": self.kind(*value)}),
            Kind::Either(kinds) => {
                json!({"anyOf": kinds.iter().map(|kind| self.kind(*kind)).collect::<Vec<_>>()})
            }
            Kind::Fragment(path, ours) => {
                let below = path.iter().fold(self.pod, |schema, member| schema.field(member));
                self.fragment(&path.join("."), below, ours)
            }
        }
    }

    fn fragment(&mut self, path: &str, schema: Schema<'t>, ours: Option<&'static Table>) -> Value {
        match schema.list() {
            List::Unknown if schema.fields().is_empty() => {
                let name = path.rsplit('.').next().unwrap_or(path);
                let known = !self.pod.fields().is_empty();
                if known && pod::is_text(name) { json!({"anyOf": [text(), expression()]}) } else { json!({}) }
            }
            List::Unknown => self.object(path, schema, ours),
            _ => {
                let item = match schema.item() {
                    item if item.fields().is_empty() => json!({}),
                    item => self.object(path, item, ours.or(Some(&format::REPEATED))),
                };
                let list = json!({"type": "array", "items": item});
                if is_list_of_values(schema) { json!({"anyOf": [list, expression()]}) } else { list }
            }
        }
    }

    /// A reference to the definition of a type of the pod, including the fields that the format adds.
    fn object(&mut self, path: &str, schema: Schema<'t>, ours: Option<&'static Table>) -> Value {
        let address = (schema.fields().as_ptr(), ours.map(|table| table.fields.as_ptr()));
        if !self.types.contains_key(&address) {
            let name = self.free_name(&format!("pod.{path}"));
            self.types.insert(address, name.clone());
            let mut fields = Map::new();
            for field in schema.fields() {
                let below = self.fragment(&format!("{path}.{}", field.name), schema.field(field.name), None);
                fields.insert(field.name.to_owned(), below);
            }
            if let Some(table) = ours {
                fields.extend(self.fields(table));
            }
            // An expression may replace the value.
            fields.insert("$cel".to_owned(), json!({"type": "string"}));
            let definition = json!({"type": "object", "properties": fields, "additionalProperties": false});
            self.definitions.insert(name, definition);
        }
        reference(self.types.get(&address))
    }
}

/// A whole number within these bounds.
pub(crate) fn integer(least: i64, most: i64) -> Value {
    let mut schema = json!({"type": "integer"});
    if least > i64::MIN {
        schema["minimum"] = least.into();
    }
    if most < i64::MAX {
        schema["maximum"] = most.into();
    }
    schema
}

/// Whether one expression may give the whole list.
pub(crate) fn is_list_of_values(schema: Schema<'_>) -> bool {
    schema.list() != List::Unknown && schema.item().fields().is_empty()
}

fn reference(name: Option<&String>) -> Value {
    json!({"$ref": format!("#/$defs/{}", name.map(String::as_str).unwrap_or_default())})
}

/// A text field accepts unquoted numbers and booleans, because it keeps their spelling: `1.10`.
fn text() -> Value {
    json!({"type": ["string", "number", "boolean"]})
}

fn expression() -> Value {
    json!({"type": "object", "properties": {"$cel": {"type": "string"}}, "required": ["$cel"], "additionalProperties": false})
}
