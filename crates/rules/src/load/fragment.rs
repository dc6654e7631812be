//! Reads fragments of a pod by their schema. Misspelt fields are errors; other unknown fields are kept with a
//! warning.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::{List, Schema};

use super::expressions::{FOR_EACH_ITEM, is_expression};
use super::reader::Reader;
use crate::diagnostic::{
    DUPLICATE_MOUNT, DUPLICATE_NAME, MISSING_FIELD, NOT_SUPPORTED, NOTHING_TO_REPLACE, Position,
    UNKNOWN_FIELD, UNKNOWN_POD_FIELD, WRONG_VALUE,
};
use crate::did_you_mean::did_you_mean;
use crate::expression::FOR_EACH;
use crate::format::{self, Collection, Table};
use crate::key;
use crate::overlay::{Member, Overlay};
use crate::pod;
use crate::rule::OnConflict;
use crate::syntax;
use crate::yaml::{Entry, Node, Value};

/// Reserved words of the rule format. If `matchConditions: []` were kept as an unknown field of an item, the item would be
/// injected anyway.
const RESERVED_WORDS: &[&str] = &[
    FOR_EACH,
    "lookups",
    "matchConditions",
    "parameters",
    "remove",
    "replace",
    "rollout",
    "securityProfile",
    "variables",
];

impl Reader {
    /// Reads an object of the pod without the fields of `ours`, which belong to the rule format.
    pub(super) fn object(
        &mut self,
        node: &Node,
        what: &str,
        schema: Schema<'_>,
        ours: &Table,
        on_conflict: OnConflict,
    ) -> Option<Overlay> {
        let object = self.nested_object(node, what, schema, Some(ours))?;
        self.check_types(node, what, &object);
        self.check_relations(node, what, &object, on_conflict);
        Some(object)
    }

    /// Does the same for an object within another one, whose types are checked together with those of the object around it.
    fn nested_object(
        &mut self,
        node: &Node,
        what: &str,
        schema: Schema<'_>,
        ours: Option<&Table>,
    ) -> Option<Overlay> {
        let entries = node.as_map().or_else(|| {
            self.wrong_collection(node, what, Collection::Map, example(what, Collection::Map, schema));
            None
        })?;
        let entries = entries.iter().filter(|entry| ours.is_none_or(|ours| ours.field(&entry.key).is_none()));
        let members: Vec<Member> = entries.filter_map(|entry| self.member(entry, what, schema)).collect();
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        if let Some((one, other)) = pod::excluding(&names) {
            let message = format!("`{one}` and `{other}` exclude each other");
            self.error(&WRONG_VALUE, node.at(), message, "");
        }
        Some(Overlay::Map(members))
    }

    pub(super) fn member(&mut self, entry: &Entry, what: &str, schema: Schema<'_>) -> Option<Member> {
        let name = entry.key.as_str();
        if name.starts_with('$') {
            self.unknown_keyword(entry);
            return None;
        }
        let fields = schema.fields();
        let in_schema = fields.iter().any(|field| field.name == name);
        if !in_schema && RESERVED_WORDS.contains(&name) {
            let (code, message) = match format::SPEC.field(name) {
                _ if name == FOR_EACH => (&NOT_SUPPORTED, format!("`{FOR_EACH}` does not apply to `{what}`")),
                _ if name == "replace" => {
                    (&NOTHING_TO_REPLACE, format!("`replace` does not belong in `{what}`"))
                }
                Some(field) if !field.refused => {
                    (&UNKNOWN_FIELD, format!("`{name}` belongs to the `spec` of a rule, not in `{what}`"))
                }
                _ => (&NOT_SUPPORTED, format!("`{name}` in `{what}` is not supported yet")),
            };
            let help = match name {
                FOR_EACH => {
                    "it is for volumes, image pull secrets, the lists of `containerPatches`, and items of lists within a part"
                }
                "replace" => {
                    "it belongs in `pod.spec` or in a container patch; of a field that it names, the members that the rule has are replaced"
                }
                _ => "",
            };
            self.error(code, entry.at, message, help);
            return None;
        }
        let known = in_schema || fields.is_empty();
        if !known {
            let message = format!("`{what}` is not known to have a field `{name}`");
            let elsewhere = format::CONTAINER.field(name).is_some();
            let belongs =
                || elsewhere.then(|| format!("`{name}` belongs to the items of a rule that support it"));
            let help = did_you_mean(name, fields.iter().map(|field| field.name)).or_else(belongs);
            match help {
                Some(help) => self.error(&UNKNOWN_FIELD, entry.at, message, help),
                None => self.warning(&UNKNOWN_POD_FIELD, entry.at, message),
            }
        }
        let below = schema.field(name);
        let single = below.fields().is_empty() && below.list() == List::Unknown && !fields.is_empty();
        let before = self.findings.len();
        let value = self.fragment(&entry.value, name, below)?;
        if known && single && pod::is_text(name) && self.findings.len() == before && !value.is_dynamic() {
            self.text(&entry.value, name)?;
        }
        Some(Member { name: name.to_owned(), value, known })
    }

    /// Reads the value of the field `name`; `None` for an empty list or map of text, or for an invalid value.
    pub(super) fn fragment(&mut self, node: &Node, name: &str, schema: Schema<'_>) -> Option<Overlay> {
        if is_expression(node) {
            return self.expression(node, name, schema);
        }
        let is_list = matches!(node.value(), Value::List(_));
        if node.is_null() {
            self.null(node, name);
            return None;
        }
        if schema.list() != List::Unknown && !is_list {
            self.wrong_collection(node, name, Collection::List, example(name, Collection::List, schema));
            return None;
        }
        if schema.list() == List::Unknown && !schema.fields().is_empty() && node.as_map().is_none() {
            self.wrong_collection(node, name, Collection::Map, example(name, Collection::Map, schema));
            return None;
        }
        match node.value() {
            Value::Scalar(scalar) if pod::is_text(name) || pod::is_quantity(name) => {
                if pod::is_quantity(name) {
                    self.check_pod_value(syntax::quantity(scalar.text()), name, node.at());
                }
                Some(Overlay::Text(scalar.text().to_owned()))
            }
            Value::Scalar(scalar) => Some(match scalar.to_json() {
                text if text.starts_with('"') => Overlay::Text(scalar.text().to_owned()),
                literal => Overlay::Literal(literal),
            }),
            Value::List(items) => {
                self.unique(items, name, schema.list());
                let mut overlays = Vec::new();
                for item in items {
                    overlays.extend(self.repeated(item, name, schema.list(), |reader| {
                        let mut overlay = reader.fragment_item(item, name, schema.item())?;
                        reader.computed_keys(&mut overlay, name, schema.list());
                        reader.item_values(name, &overlay, item.at());
                        Some(overlay)
                    }));
                }
                Some(Overlay::List(overlays)).filter(|list| !list.items().is_empty())
            }
            Value::Map(_) if pod::is_text_map(name) => self.text_members(node, name),
            Value::Map(_) => self.nested_object(node, name, schema, None),
        }
    }

    fn fragment_item(&mut self, node: &Node, list: &str, schema: Schema<'_>) -> Option<Overlay> {
        match node.get(FOR_EACH) {
            Some(_) if !is_expression(node) => {
                self.nested_object(node, list, schema, Some(&format::REPEATED))
            }
            _ if is_expression(node) && !schema.fields().is_empty() => {
                self.refuse_structured(node, list, FOR_EACH_ITEM)
            }
            _ => self.fragment(node, list, schema),
        }
    }

    fn text_members(&mut self, node: &Node, name: &str) -> Option<Overlay> {
        let mut pairs = self.texts_or_expressions(node, name);
        if pod::is_quantity(name) {
            pairs.retain(|(key, value, at)| {
                value.as_text().is_none_or(|value| self.check_pod_value(syntax::quantity(value), key, *at))
            });
        }
        if matches!(name, "labels" | "matchLabels" | "nodeSelector") {
            for (key, value, at) in &pairs {
                self.check_label(key, value, *at);
            }
        }
        let map = Overlay::map(pairs.into_iter().map(|(key, value, _)| (key, value)));
        Some(map).filter(|map| !map.members().is_empty())
    }

    /// Reports a key or a value that no label can have. The value of an expression is checked for each object.
    pub(super) fn check_label(&mut self, key: &str, value: &Overlay, at: Position) {
        self.check_pod_value(syntax::label_key(key), key, at);
        self.check_pod_value(value.as_text().map_or(Ok(()), syntax::label_value), key, at);
    }

    /// Reports missing or invalid members of an item of the list `name`.
    pub(super) fn item_values(&mut self, name: &str, item: &Overlay, at: Position) {
        if item.get("name").is_some_and(Overlay::is_dynamic) {
            return;
        }
        match (name, item.text("name")) {
            ("env", None) => self.error(&MISSING_FIELD, at, "a variable has no `name`", ""),
            ("env", Some(text)) => drop(self.check_pod_value(syntax::variable(text), "name", at)),
            ("envFrom", _) => {
                if let Some(prefix) = item.text("prefix").filter(|prefix| !prefix.is_empty()) {
                    self.check_pod_value(syntax::variable(prefix), "prefix", at);
                }
            }
            ("ports", Some(text)) => drop(self.check_pod_value(syntax::port(text), "name", at)),
            ("volumeMounts", None) => self.error(&MISSING_FIELD, at, "a mount has no `name`", ""),
            ("volumeMounts", Some(_)) if item.get("mountPath").is_none() => {
                self.error(&MISSING_FIELD, at, "a mount has no `mountPath`", "");
            }
            _ => {}
        }
    }

    /// Reports a value that the API server would refuse. Returns whether the value is valid.
    pub(super) fn check_pod_value(
        &mut self,
        check: Result<(), &'static str>,
        what: &str,
        at: Position,
    ) -> bool {
        self.check_format(check, &format!("the API server refuses this value of `{what}`"), at)
    }

    /// Reports a value that only the rule format refuses. Returns whether the value is valid.
    pub(super) fn check_format(
        &mut self,
        check: Result<(), &'static str>,
        message: &str,
        at: Position,
    ) -> bool {
        if let Err(wanted) = check {
            self.error(&WRONG_VALUE, at, message, format!("wanted: {wanted}"));
        }
        check.is_ok()
    }

    /// Reports items of a list that have one key.
    pub(super) fn unique(&mut self, items: &[Node], name: &str, list: List) {
        let Some(keys) = pod::item_keys(name, list) else { return };
        let mut seen: HashMap<String, Position> = HashMap::new();
        for item in items {
            // Computed keys are checked for each object.
            if keys.iter().any(|key| item.get(key.name).is_some_and(is_expression)) {
                continue;
            }
            let written = |name: &str| item.get(name).and_then(Node::as_text);
            if keys.iter().any(|key| written(key.name).is_none() && key.default.is_none()) {
                continue;
            }
            let key = key::joined(keys, |name| written(name).map(Cow::Borrowed)).into_owned();
            let code = if name == "volumeMounts" { &DUPLICATE_MOUNT } else { &DUPLICATE_NAME };
            if let Some(first) = seen.get(&key) {
                let called = match list {
                    List::Map(_) => &key,
                    _ => key::of_toleration(written("key")),
                };
                let message = format!("`{called}` appears twice in `{name}`; first at {first}");
                self.error(code, item.at(), message, "");
            } else {
                seen.insert(key, item.at());
            }
        }
    }
}

/// An example on one line for the field `name` of pods: from the tables of the format, otherwise from the schema.
fn example(name: &str, wanted: Collection, schema: Schema<'_>) -> Option<String> {
    const MOST: usize = 4;
    let map = |schema: Schema<'_>| {
        let fields = schema.fields();
        let names: Vec<String> =
            fields.iter().take(MOST).map(|field| format!("{}: ...", field.name)).collect();
        let more = if fields.len() > MOST { ", ..." } else { "" };
        (!fields.is_empty()).then(|| format!("{{{}{more}}}", names.join(", ")))
    };
    let of_schema = || match (wanted, schema.list()) {
        (Collection::Map, List::Unknown) => map(schema),
        (Collection::List, List::Map(keys)) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("{}: ...", key.name)).collect();
            Some(format!("[{{{}}}]", keys.join(", ")))
        }
        (Collection::List, _) => {
            Some(map(schema.item()).map_or_else(|| "[one, two]".to_owned(), |item| format!("[{item}]")))
        }
        (Collection::Map, _) => None,
    };
    format::example_in_pod(name, wanted).or_else(of_schema)
}
