//! The annotation that says what rules have added: for people and for tools that look for pods of older rules. Nothing
//! here reads it.

use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{List, Pointer, Schema, View};

use super::blocks::selectable;
use super::existing::Existing;
use super::injected::DEFAULT_CONTAINER;
use super::{Draft, contains, find};
use crate::STATUS_ANNOTATION;
use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::pod;
use crate::rule::{Item, Part, Rule};
use crate::subject::{Layout, text};
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
        let mut status = Self::default();
        let owned: HashSet<&str> =
            rules.iter().flat_map(|rule| &rule.injected).map(|one| one.item.key.as_str()).collect();
        let holding = Holding { layout, schema, draft, owned };
        let authors = draft.authors();
        let mut seen = HashSet::new();
        for rule in rules {
            let held = holding.of(rule);
            let holds = !held.is_empty() || authors.contains(&rule.name);
            status.added.extend(held.into_iter().filter(|word| seen.insert(word.clone())));
            if holds {
                status.rules.push(format!("{}@{}", rule.name, rule.hash().get(..4).unwrap_or_default()));
            }
        }
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
struct Holding<'h, 'd> {
    layout: &'h Layout,
    schema: Schema<'static>,
    draft: &'h Draft<'d>,
    owned: HashSet<&'h str>,
}

impl Holding<'_, '_> {
    /// The names of what `rule` brings and the object holds.
    fn of(&self, rule: &Rule) -> Vec<String> {
        let mut held = Vec::new();
        let Self { layout, schema, .. } = *self;
        let spec = schema.field("spec");
        let metadata = layout.pod.child("metadata");
        self.parts(
            &metadata,
            schema.field("metadata"),
            &rule.metadata,
            |path, key| format!("{}:{key}", path.trim_end_matches('s')),
            &mut held,
        );
        self.parts(
            &layout.spec,
            spec,
            &rule.spec,
            |path, key| match path {
                "imagePullSecrets" => format!("pullSecret:{key}"),
                "" => format!("spec:{key}"),
                _ => format!("spec:{path}/{key}"),
            },
            &mut held,
        );
        self.items(&layout.spec.child("volumes"), "volumes", spec, &rule.volumes, "vol:", &mut held);
        for one in &rule.injected {
            let word = if one.list == "containers" { "container:" } else { "init:" };
            let items = std::slice::from_ref(&one.item);
            self.items(&layout.spec.child(one.list), one.list, spec, items, word, &mut held);
        }
        if rule.injected.iter().any(|one| one.list == "containers") {
            held.extend(self.default_container());
        }
        let container = spec.field("containers").item();
        for block in &rule.blocks {
            let lists: &[&str] =
                if block.select.init { &["containers", "initContainers"] } else { &["containers"] };
            for list in lists {
                let list = layout.spec.child(list);
                for (index, name) in selectable(&self.existing(&list), &block.select, &self.owned) {
                    let place = list.item(index);
                    for entry in &block.lists {
                        let word = match entry.member {
                            "volumeMounts" => format!("mount:{name}/"),
                            "volumeDevices" => format!("device:{name}/"),
                            "ports" => format!("port:{name}/"),
                            member => format!("{member}:{name}/"),
                        };
                        let list = place.child(entry.member);
                        self.items(&list, entry.member, container, &entry.items, &word, &mut held);
                    }
                    self.parts(
                        &place,
                        container,
                        &block.parts,
                        |path, key| match path {
                            "" => format!("set:{name}/{key}"),
                            _ => format!("set:{name}/{path}/{key}"),
                        },
                        &mut held,
                    );
                }
            }
        }
        held
    }

    fn items(
        &self,
        list: &Pointer,
        name: &str,
        above: Schema<'_>,
        items: &[Item],
        word: &str,
        held: &mut Vec<String>,
    ) {
        if items.is_empty() {
            return;
        }
        let schema = above.field(name);
        let existing = Existing::new(self.existing(list), schema, items);
        for item in items {
            let found = existing.find(item, name, schema);
            if found.is_some_and(|(_, found)| contains(found, &item.overlay, name, schema.item())) {
                held.push(format!("{word}{}", called(&item.overlay, &item.key, schema)));
            }
        }
    }

    fn parts(
        &self,
        base: &Pointer,
        schema: Schema<'_>,
        parts: &[Part],
        word: impl Fn(&str, &str) -> String,
        held: &mut Vec<String>,
    ) {
        for Part { path, listed, item } in parts {
            let place = path.iter().fold(base.clone(), |place, name| place.child(name));
            let schema = path.iter().fold(schema, |schema, name| schema.field(name));
            let name = path.last().map_or("", String::as_str);
            let there = if *listed {
                let items = self.existing(&place);
                find(&items, &item.overlay, name, schema)
                    .is_some_and(|(_, found)| contains(found, &item.overlay, name, schema.item()))
            } else {
                let name = if pod::is_text_map(name) { name } else { &item.key };
                let found = self.draft.at(&place.child(&item.key));
                found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
            };
            if there {
                let key = if *listed { called(&item.overlay, &item.key, schema) } else { item.key.clone() };
                held.push(word(&path.join("/"), &key));
            }
        }
    }

    /// The annotation that a container in the first place brings along.
    fn default_container(&self) -> Option<String> {
        let containers = self.existing(&self.layout.spec.child("containers"));
        let mut names = containers.into_iter().filter_map(|one| text(Some(one), "name")).peekable();
        self.owned.contains(names.peek()?.as_str()).then_some(())?;
        let user = names.find(|name| !self.owned.contains(name.as_str()))?;
        let annotations = self.draft.at(&self.layout.pod.child("metadata").child("annotations"));
        let said = text(annotations, DEFAULT_CONTAINER)?;
        (said == user).then(|| format!("annotation:{DEFAULT_CONTAINER}"))
    }

    fn existing(&self, list: &Pointer) -> Vec<View<'_>> {
        self.draft.at(list).map(View::items).unwrap_or_default()
    }
}

/// What an item is called: by its key where its list has one, else by a name within it, never by its values.
fn called(overlay: &Overlay, key: &str, schema: Schema<'_>) -> String {
    if matches!(schema.list(), List::Map(_)) {
        return key.to_owned();
    }
    match overlay {
        Overlay::Text(text) | Overlay::Literal(text) => text.clone(),
        Overlay::Map(members) => {
            let named = |name: &str| overlay.text(name).map(str::to_owned);
            let nested = || members.iter().find_map(|member| member.value.text("name")).map(str::to_owned);
            named("name").or_else(|| named("key")).or_else(nested).unwrap_or_else(|| "*".to_owned())
        }
        Overlay::List(_) | Overlay::Expression(_) => "*".to_owned(),
    }
}
