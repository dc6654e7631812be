//! The annotation that says what rules have added: for people and for tools that look for pods of older rules. Nothing
//! here reads it.

use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{List, Schema, View};

use super::blocks::selectable;
use super::existing::Existing;
use super::injected::DEFAULT_CONTAINER;
use super::{Draft, contains, find, holds, present};
use crate::STATUS_ANNOTATION;
use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::pod;
use crate::rule::{BlockList, Item, Part, Rule};
use crate::subject::{Layout, Named, written};
use crate::yaml::quote;

/// So long the annotation may be, in bytes. All annotations of an object together may have 256 KiB.
const MAX_LENGTH: usize = 2048;

/// Records what `rules` have in the pod by now; `hash` names the documents they come from. Only pods get it: in a
/// template it would roll the workload with every change of the rules.
pub(crate) fn record(
    rules: &[&Rule],
    layout: &Layout,
    schema: Schema<'static>,
    hash: &str,
    draft: &mut Draft<'_>,
) {
    if !layout.pod.is_root() {
        return;
    }
    let status = Status::of(rules, layout, schema, draft).to_json(hash);
    let place = layout.pod.child("metadata").child("annotations").child(STATUS_ANNOTATION);
    let origin = Origin {
        rule: Arc::from("injector"),
        clause: "status".to_owned(),
        source: Arc::from("injector"),
        line: 0,
    };
    // A pod whose annotations are no map was refused long before.
    let _ = draft.set(&place, quote(&status), &origin);
}

/// What the annotation says.
#[derive(Default)]
struct Status {
    rules: Vec<String>,
    added: Vec<String>,
}

impl Status {
    fn of(rules: &[&Rule], layout: &Layout, schema: Schema<'static>, draft: &Draft<'_>) -> Self {
        let holding = Holding::new(rules, layout, schema, draft);
        let authors = draft.authors();
        let mut status = Self::default();
        for rule in rules {
            let before = status.added.len();
            holding.of(rule, &mut status.added);
            if status.added.len() > before || authors.contains(&rule.name) {
                status.rules.push(format!("{}@{}", rule.name, rule.hash().get(..4).unwrap_or_default()));
            }
        }
        let mut seen = HashSet::with_capacity(status.added.len());
        let first: Vec<bool> = status.added.iter().map(|word| seen.insert(word.as_str())).collect();
        let mut first = first.into_iter();
        status.added.retain(|_| first.next() == Some(true));
        status
    }

    /// Names as long as there is room, and how many are missing.
    fn to_json(&self, hash: &str) -> String {
        const MORE: usize = r#","more":1000000}"#.len();
        let mut left =
            MAX_LENGTH.saturating_sub(r#"{"v":1,"cfg":"","rules":[],"add":[]"#.len() + hash.len() + MORE);
        let mut fitting = |words: &[String]| {
            let mut fitting = Vec::new();
            for word in words.iter().map(|word| quote(word)) {
                if word.len() + 1 > left {
                    break;
                }
                left -= word.len() + 1;
                fitting.push(word);
            }
            fitting
        };
        let (rules, added) = (fitting(&self.rules), fitting(&self.added));
        let more = self.rules.len() - rules.len() + self.added.len() - added.len();
        let more = if more > 0 { format!(",\"more\":{more}") } else { String::new() };
        let hash = quote(hash);
        format!(r#"{{"v":1,"cfg":{hash},"rules":[{}],"add":[{}]{more}}}"#, rules.join(","), added.join(","))
    }
}

/// The object with all rules laid in.
struct Holding<'h> {
    metadata: Option<View<'h>>,
    spec: Option<View<'h>>,
    schema: Schema<'static>,
    containers: Vec<Named<'h>>,
    init_containers: Vec<Named<'h>>,
    /// The names of the containers that rules bring.
    owned: HashSet<&'h str>,
}

impl<'h> Holding<'h> {
    fn new(rules: &[&'h Rule], layout: &Layout, schema: Schema<'static>, draft: &'h Draft<'_>) -> Self {
        let [metadata, spec] =
            draft.at(&layout.pod).map(|pod| pod.select(["metadata", "spec"])).unwrap_or_default();
        let list = |name| Named::all(spec.and_then(|spec| present(spec, name)));
        let injected = rules.iter().flat_map(|rule| &rule.injected);
        Self {
            metadata,
            spec,
            schema,
            containers: list("containers"),
            init_containers: list("initContainers"),
            owned: injected.map(|one| one.item.key.as_str()).collect(),
        }
    }

    /// Adds the names of what `rule` brings and the object holds.
    fn of(&self, rule: &Rule, held: &mut Vec<String>) {
        let spec = self.schema.field("spec");
        parts(
            self.metadata,
            self.schema.field("metadata"),
            &rule.metadata,
            |path, key| format!("{}:{key}", path.trim_end_matches('s')),
            held,
        );
        parts(
            self.spec,
            spec,
            &rule.spec,
            |path, key| match path {
                "imagePullSecrets" => format!("pullSecret:{key}"),
                "" => format!("spec:{key}"),
                _ => format!("spec:{path}/{key}"),
            },
            held,
        );
        items(self.spec, "volumes", spec, &rule.volumes, |key| format!("vol:{key}"), held);
        for one in &rule.injected {
            let word = if one.list == "containers" { "container" } else { "init" };
            let item = std::slice::from_ref(&one.item);
            items(self.spec, one.list, spec, item, |key| format!("{word}:{key}"), held);
        }
        if rule.injected.iter().any(|one| one.list == "containers") {
            held.extend(self.default_container());
        }
        let container = spec.field("containers").item();
        for block in &rule.blocks {
            let init = if block.select.init { self.init_containers.as_slice() } else { &[] };
            for containers in [&self.containers, init] {
                for (index, name) in selectable(containers, &block.select, &self.owned) {
                    let place = containers.get(index).map(|one| one.view);
                    for BlockList { member, items: wanted } in &block.lists {
                        let word = match *member {
                            "volumeMounts" => "mount",
                            "volumeDevices" => "device",
                            "ports" => "port",
                            member => member,
                        };
                        let word = |key: &str| format!("{word}:{name}/{key}");
                        items(place, member, container, wanted, word, held);
                    }
                    parts(
                        place,
                        container,
                        &block.parts,
                        |path, key| match path {
                            "" => format!("set:{name}/{key}"),
                            _ => format!("set:{name}/{path}/{key}"),
                        },
                        held,
                    );
                }
            }
        }
    }

    /// The annotation that a container in the first place brings along.
    fn default_container(&self) -> Option<String> {
        let mut names =
            self.containers.iter().map(|one| &*one.name).filter(|name| !name.is_empty()).peekable();
        self.owned.contains(*names.peek()?).then_some(())?;
        let user = names.find(|name| !self.owned.contains(name))?;
        let annotations = self.metadata.and_then(|metadata| present(metadata, "annotations"));
        let said = written(annotations, DEFAULT_CONTAINER)?;
        (said == user).then(|| format!("annotation:{DEFAULT_CONTAINER}"))
    }
}

/// Adds what the list `name` of `base` holds of the items `wanted`.
fn items(
    base: Option<View<'_>>,
    name: &str,
    above: Schema<'_>,
    wanted: &[Item],
    word: impl Fn(&str) -> String,
    held: &mut Vec<String>,
) {
    if wanted.is_empty() {
        return;
    }
    let schema = above.field(name);
    let list = base.and_then(|base| present(base, name));
    let existing = Existing::new(list.map(View::items).unwrap_or_default(), schema, wanted);
    for item in wanted {
        let found = existing.find(item, name, schema);
        if found.is_some_and(|(_, found)| holds(found, item, name, schema.item())) {
            held.push(word(called(&item.overlay, &item.key, schema)));
        }
    }
}

/// Adds what `base` holds of the parts `wanted`.
fn parts(
    base: Option<View<'_>>,
    schema: Schema<'_>,
    wanted: &[Part],
    word: impl Fn(&str, &str) -> String,
    held: &mut Vec<String>,
) {
    for Part { path, listed, item } in wanted {
        let place = path.iter().try_fold(base, |place, name| Some(present(place?, name))).flatten();
        let schema = path.iter().fold(schema, |schema, name| schema.field(name));
        let name = path.last().map_or("", String::as_str);
        let there = if *listed {
            let items = place.map(View::items).unwrap_or_default();
            find(&items, &item.overlay, name, schema)
                .is_some_and(|(_, found)| contains(found, &item.overlay, name, schema.item()))
        } else {
            let name = if pod::is_text_map(name) { name } else { &item.key };
            let found = place.and_then(|place| present(place, &item.key));
            found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
        };
        if there {
            let key = if *listed { called(&item.overlay, &item.key, schema) } else { &item.key };
            held.push(word(&path.join("/"), key));
        }
    }
}

/// What an item is called: by its key where its list has one, else by a name within it, never by its values.
fn called<'i>(overlay: &'i Overlay, key: &'i str, schema: Schema<'_>) -> &'i str {
    if matches!(schema.list(), List::Map(_)) {
        return key;
    }
    match overlay {
        Overlay::Text(text) | Overlay::Literal(text) => text,
        Overlay::Map(members) => {
            let nested = || members.iter().find_map(|member| member.value.text("name"));
            overlay.text("name").or_else(|| overlay.text("key")).or_else(nested).unwrap_or("*")
        }
        Overlay::List(_) | Overlay::Expression(_) => "*",
    }
}
