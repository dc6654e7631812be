//! Splits the maps that a rule merges into existing ones: each part is added, kept or in conflict by itself.

use vestibule_patch::{List, Schema};

use super::reader::Reader;
use crate::diagnostic::{CLOSED_LIST, EXPRESSION_PLACE, MISPLACED_FIELD, NOTHING_TO_REPLACE, Position};
use crate::format::{self, Collection, Field, Table};
use crate::key;
use crate::merge::is_open;
use crate::overlay::{Member, Overlay};
use crate::pod::{self, is_split};
use crate::rule::{Clause, Item, OnConflict, Part};
use crate::yaml::{Entry, Node};

/// A map of a rule that is split into parts.
struct MergedMap<'w> {
    /// Its name in messages.
    what: &'w str,
    /// The start of the clauses of its parts.
    clause: &'w str,
    schema: Schema<'w>,
    on_conflict: OnConflict,
}

/// A value in such a map.
struct MergedValue<'w> {
    node: &'w Node,
    at: Position,
    overlay: Overlay,
    schema: Schema<'w>,
    path: Vec<String>,
    name: String,
    clause: String,
    on_conflict: OnConflict,
    /// Whether atomic lists may be replaced.
    replaces: bool,
}

impl Reader {
    /// `pod.spec` and `imagePullSecrets`.
    pub(super) fn pod_spec(&mut self, spec: &Node, schema: Schema<'_>) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Some(node) = spec.find(&["pod", "spec"]) {
            self.check_values(node, &format::POD_SPEC);
            let on_conflict = self.read_on_conflict(node).or(self.on_conflict).unwrap_or(OnConflict::Keep);
            let whole = MergedMap { what: "pod.spec", clause: "pod.spec", schema, on_conflict };
            parts = self.parts(node, &whole, &format::POD_SPEC, is_part_of_pod_spec);
            use_current_name(&mut parts);
        }
        if let Some(node) = spec.get("imagePullSecrets") {
            let on_conflict = self.on_conflict.unwrap_or(OnConflict::Keep);
            let (field, schema) = ("imagePullSecrets", schema.field("imagePullSecrets"));
            let items = self.items(node, field, field, schema, on_conflict);
            let part = |item| Part { path: vec![field.to_owned()], listed: true, item };
            parts.extend(items.into_iter().map(part));
        }
        parts
    }

    /// The parts of a block that are not items of its lists.
    pub(super) fn parts_of_container(
        &mut self,
        block: &Node,
        clause: &str,
        schema: Schema<'_>,
        on_conflict: OnConflict,
    ) -> Vec<Part> {
        let whole = MergedMap { what: "containerPatches", clause, schema, on_conflict };
        self.parts(block, &whole, &format::BLOCK, |name| {
            format::BLOCK.field(name).is_some_and(Field::is_merged)
        })
    }

    fn parts(
        &mut self,
        node: &Node,
        whole: &MergedMap<'_>,
        table: &Table,
        taken: impl Fn(&str) -> bool,
    ) -> Vec<Part> {
        let Some(entries) = node.as_map() else {
            self.wrong_collection(node, whole.what, Collection::Map, Some(table.example.to_owned()));
            return Vec::new();
        };
        let replaced = self.replaced(node, whole, &taken);
        let mut members = Vec::new();
        let mut parts = Vec::new();
        for entry in entries.iter().filter(|entry| taken(&entry.key)) {
            if let Some(field) = table.field(&entry.key).filter(|field| field.refused) {
                let message = format!("`{}` does not belong in `{}`", entry.key, whole.what);
                self.error(&MISPLACED_FIELD, entry.at, message, field.about);
                continue;
            }
            let Some(member) = self.member(entry, whole.what, whole.schema) else { continue };
            let replaces = replaced.contains(&entry.key);
            let value = MergedValue {
                node: &entry.value,
                at: entry.at,
                overlay: member.value.clone(),
                schema: whole.schema.field(&entry.key),
                path: Vec::new(),
                name: entry.key.clone(),
                clause: format!("{}.{}", whole.clause, entry.key),
                on_conflict: if replaces { OnConflict::Override } else { whole.on_conflict },
                replaces,
            };
            self.split_into_parts(value, &mut parts);
            members.push(member);
        }
        let members = Overlay::Map(members);
        self.check_types(node, whole.what, &members);
        self.check_relations(node, whole.what, &members, whole.on_conflict);
        parts
    }

    /// The fields that `replace` names.
    fn replaced(&mut self, node: &Node, whole: &MergedMap<'_>, taken: impl Fn(&str) -> bool) -> Vec<String> {
        let names = node.texts("replace");
        for (name, at) in names.iter().zip(node.items("replace")) {
            if !taken(name) || node.get(name).is_none() {
                let message = format!("`{name}` is not beside `replace` in `{}`", whole.what);
                self.error(&NOTHING_TO_REPLACE, at.at(), message, "");
            }
        }
        names
    }

    // Recursion is bounded by the depth of the document.
    fn split_into_parts(&mut self, whole: MergedValue<'_>, parts: &mut Vec<Part>) {
        let MergedValue { node, at, overlay, schema, mut path, name, clause, on_conflict, replaces } = whole;
        match overlay {
            Overlay::Map(members) if is_split(&name, schema) => {
                let is_text_map = pod::is_text_map(&name);
                path.push(name);
                let entries = paired_in_order(node.as_map().unwrap_or_default(), &members, names);
                for (member, entry) in members.into_iter().zip(entries) {
                    let value = MergedValue {
                        node: entry.map_or(node, |entry| &entry.value),
                        at: entry.map_or(at, |entry| entry.at),
                        overlay: member.value,
                        schema: schema.field(&member.name),
                        path: path.clone(),
                        clause: match is_text_map {
                            true => format!("{clause}[{}]", member.name),
                            false => format!("{clause}.{}", member.name),
                        },
                        name: member.name,
                        on_conflict,
                        replaces,
                    };
                    self.split_into_parts(value, parts);
                }
            }
            Overlay::Expression(written) if written.gives_map && is_split(&name, schema) => {
                if replaces {
                    let message =
                        format!("`replace` is for written values, and an expression gives `{name}`");
                    let help = "write its fields, with expressions for their values";
                    self.error(&EXPRESSION_PLACE, at, message, help);
                }
                let (overlay, key) = (self.gives_parts(&written, &name), key::computed(&written));
                path.push(name);
                let item = Item::new(Clause::new(clause, at), key, overlay, on_conflict);
                parts.push(Part { path, listed: false, item });
            }
            Overlay::List(items) if is_open(&items, &name, schema) => {
                path.push(name);
                let nodes = node.as_list().unwrap_or_default();
                for (index, overlay) in items.into_iter().enumerate() {
                    let at = nodes.get(index).map_or(at, Node::at);
                    let clause = Clause::new(format!("{clause}[{index}]"), at);
                    let key = key::of_item(&overlay, path.last().map_or("", String::as_str), schema.list());
                    let item = Item::new(clause, key, overlay, on_conflict);
                    parts.push(Part { path: path.clone(), listed: true, item });
                }
            }
            overlay => {
                let computed = matches!(overlay, Overlay::Expression(_)) && schema.list() != List::Unknown;
                if (computed || matches!(overlay, Overlay::List(_))) && !replaces {
                    let message = format!(
                        "`{name}` is replaced as one value by the API server, so no item can be added to it"
                    );
                    let field = path.first().unwrap_or(&name);
                    let help =
                        format!("name `{field}` in `replace`, beside it, to replace the user's `{name}`");
                    self.error(&CLOSED_LIST, at, message, help);
                }
                let item = Item::new(Clause::new(clause, at), name, overlay, on_conflict);
                parts.push(Part { path, listed: false, item });
            }
        }
    }
}

/// Gives `serviceAccount` its current name. The API server stores the same value under both names, and the current one wins.
fn use_current_name(parts: &mut Vec<Part>) {
    const NAMES: [&str; 2] = ["serviceAccount", "serviceAccountName"];
    let has = |parts: &[Part], name| parts.iter().any(|part| part.path.is_empty() && part.item.key == name);
    let has_current = has(parts, NAMES[1]);
    parts.retain(|part| !has_current || !part.path.is_empty() || part.item.key != NAMES[0]);
    for part in parts.iter_mut().filter(|part| part.path.is_empty() && part.item.key == NAMES[0]) {
        part.item.key = NAMES[1].to_owned();
    }
}

/// Whether the member `name` of `pod.spec` is a field of pods, or belongs elsewhere in a rule.
fn is_part_of_pod_spec(name: &str) -> bool {
    format::POD_SPEC.field(name).is_none_or(|field| field.refused)
}

/// For each of `some` the matching one of `all`. Both have the order of the document, so each is visited once.
pub(super) fn paired_in_order<'a, A, B>(
    all: &'a [A],
    some: &[B],
    mut same: impl FnMut(&A, &B) -> bool,
) -> Vec<Option<&'a A>> {
    let mut rest = all.iter();
    some.iter().map(|one| rest.by_ref().find(|other| same(other, one))).collect()
}

pub(super) fn names(entry: &Entry, member: &Member) -> bool {
    entry.key == member.name
}

#[cfg(test)]
mod tests {
    use super::paired_in_order;

    /// Regression test: each key of a `nodeSelector` was searched for among all keys.
    #[test]
    fn keys_are_paired_in_linear_time() {
        for count in [100, 10_000] {
            let all: Vec<usize> = (0..count).collect();
            let some: Vec<usize> = (0..count).filter(|number| number % 3 > 0).collect();
            let mut looks = 0;
            let found = paired_in_order(&all, &some, |one, other| {
                looks += 1;
                one == other
            });
            assert!(found.into_iter().flatten().eq(&some));
            assert!(looks <= count, "{looks}");
        }
    }
}
