//! Reads the items of lists, and labels and annotations.

use vestibule_patch::{List, Schema};

use super::expressions::is_expression;
use super::reader::Reader;
use crate::diagnostic::MISSING_FIELD;
use crate::expression::FOR_EACH;
use crate::format;
use crate::key;
use crate::overlay::Overlay;
use crate::rule::{Clause, Item, OnConflict, Part};
use crate::syntax;
use crate::yaml::Node;

impl Reader {
    pub(super) fn pod_metadata(&mut self, spec: &Node) -> Vec<Part> {
        let Some(pod) = spec.get("pod") else { return Vec::new() };
        self.fields(pod, &format::POD);
        let mut items = Vec::new();
        for map in ["labels", "annotations"] {
            let Some(node) = pod.get(map) else { continue };
            let on_conflict = self.on_conflict.unwrap_or(OnConflict::Keep);
            if is_expression(node) {
                let Some(Overlay::Expression(written)) = self.expression(node, map, Schema::unknown()) else {
                    continue;
                };
                self.logic.computes_metadata = true;
                let (overlay, clause) =
                    (self.gives_parts(&written, map), Clause::new(format!("pod.{map}"), written.at));
                let item = Item::new(clause, key::computed(&written), overlay, on_conflict);
                items.push(Part { path: vec![map.to_owned()], listed: false, item });
                continue;
            }
            for (key, overlay, at) in self.texts_or_expressions(node, map) {
                if map == "labels" {
                    self.check_label(&key, &overlay, at);
                } else {
                    self.check_pod_value(syntax::annotation_key(&key), &key, at);
                }
                let clause = Clause::new(format!("pod.{map}[{key}]"), at);
                let item = Item::new(clause, key, overlay, on_conflict);
                items.push(Part { path: vec![map.to_owned()], listed: false, item });
            }
        }
        items
    }

    pub(super) fn volumes(&mut self, spec: &Node, pod_spec: Schema<'_>) -> Vec<Item> {
        let Some(node) = spec.get("volumes") else { return Vec::new() };
        let default = self.on_conflict.unwrap_or(OnConflict::SkipRule);
        self.named_items(node, "volumes", pod_spec.field("volumes"), default)
    }

    /// Items of `volumes`, `sidecars` and `initContainers`, whose names are DNS labels.
    pub(super) fn named_items(
        &mut self,
        node: &Node,
        field: &'static str,
        schema: Schema<'_>,
        on_conflict: OnConflict,
    ) -> Vec<Item> {
        for item in node.as_list().unwrap_or_default() {
            match item.get("name") {
                Some(name) if is_expression(name) => {}
                Some(name) => {
                    if let Some(text) = self.text(name, "name") {
                        self.check_pod_value(syntax::name(text), "name", name.at());
                    }
                }
                None if item.as_map().is_some() => {
                    self.error(&MISSING_FIELD, item.at(), format!("an item of `{field}` has no `name`"), "");
                }
                None => {}
            }
        }
        self.items(node, field, field, schema, on_conflict)
    }

    pub(super) fn items(
        &mut self,
        node: &Node,
        field: &str,
        clause: &str,
        schema: Schema<'_>,
        on_conflict: OnConflict,
    ) -> Vec<Item> {
        let nodes = self.list(node, field);
        self.unique(nodes, field, schema.list());
        let mut items = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let ours = match field {
                "sidecars" | "initContainers" => &format::CONTAINER,
                _ => &format::ITEM,
            };
            self.check_values(node, ours);
            let on_conflict = self.read_on_conflict(node).unwrap_or(on_conflict);
            let read = |reader: &mut Self| {
                let mut overlay = reader.object(node, field, schema.item(), ours, on_conflict)?;
                reader.computed_keys(&mut overlay, field, schema.list());
                reader.item_values(field, &overlay, node.at());
                Some(overlay)
            };
            let overlay = match ours.field(FOR_EACH) {
                Some(_) => self.repeated(node, field, schema.list(), read),
                None => read(self),
            };
            let overlay = overlay.unwrap_or(Overlay::Map(Vec::new()));
            let clause = Clause::new(format!("{clause}[{index}]"), node.at());
            let key = match schema.list() {
                List::Map(keys) => key::of_overlay(&overlay, keys),
                _ => overlay.text("name").unwrap_or_default().to_owned(),
            };
            items.push(Item::new(clause, key, overlay, on_conflict));
        }
        items
    }
}
