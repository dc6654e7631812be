//! The annotation that says what rules have added: for people and for tools that look for pods of older rules. Nothing
//! here reads it.

mod search;
mod annotation;

use std::cell::{LazyCell, OnceCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use vestibule_patch::{List, Pointer, Schema, View};

use super::blocks::{selectable, selected_of};
use super::item_lookup::ItemLookup;
use super::known_present::KnownPresent;
use super::injected::DEFAULT_CONTAINER;
use super::{InjectedNames, Draft, contains, holds, list_index, json, present};
use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::pod::{self, Shape};
use crate::rule::{BlockList, Item, Part, Rule};
use crate::subject::{Layout, NamedContainer, written};
use annotation::{Words, annotation};

/// Records what `rules` have in the pod by now; `hash` names the documents they come from. Only pods get it: in a
/// template it would roll the workload with every change of the rules.
pub(crate) fn record_status(rules: &[&Rule], layout: &Layout, shape: &Shape, hash: &str, draft: &mut Draft<'_>) {
    if !layout.pod.is_root() {
        return;
    }
    let status = status(rules, layout, shape, hash, draft);
    let found = draft.at(&layout.status).and_then(View::as_str);
    if found.is_some_and(|found| found == status) {
        return;
    }
    // A pod whose annotations are no map was refused long before.
    let _ = json::text(&status).and_then(|status| draft.set(layout.status.clone(), status, ORIGIN.clone()));
}

/// Nobody's rule.
static ORIGIN: LazyLock<Origin> = LazyLock::new(|| {
    let injector: Arc<str> = Arc::from("injector");
    Origin { rule: Arc::clone(&injector), clause: Arc::from("status"), source: injector, line: 0 }
});

/// What the annotation says.
fn status(rules: &[&Rule], layout: &Layout, shape: &Shape, hash: &str, draft: &Draft<'_>) -> String {
    let holding = PodContents::new(rules, layout, shape, draft);
    let authors = LazyCell::new(|| draft.authors());
    let (mut acted, mut added) = (Words::new(), Words::new());
    for rule in rules {
        let before = added.len();
        holding.of(rule, &mut added);
        if added.len() > before || authors.contains(&rule.name) {
            acted.push([&*rule.name, "@", rule.hash().get(..4).unwrap_or_default()]);
        }
    }
    annotation(hash, &acted, &added)
}

/// The object with all rules laid in.
struct PodContents<'h> {
    metadata: Option<View<'h>>,
    spec: Option<View<'h>>,
    layout: &'h Layout,
    shape: &'h Shape,
    draft: &'h Draft<'h>,
    known: &'h KnownPresent,
    containers: Vec<NamedContainer<'h>>,
    init_containers: Vec<NamedContainer<'h>>,
    brought: InjectedNames<'h>,
    /// Of both lists the containers that no rule brings, by their indices, where many rules act.
    users: Option<[Vec<usize>; 2]>,
    default_container: OnceCell<bool>,
    /// Whether many rules act, or one looked for many things.
    is_of_many: bool,
    /// Where that is so, the lists that they look into, each searched once for all of them.
    searched: HashMap<(Place, &'static str), ItemLookup<'h, 'h, 'h>>,
}

/// What has lists: the specification, or a container by its list and index.
type Place = (&'static str, usize);

const SPEC: Place = ("spec", 0);

/// What lists stand in.
#[derive(Clone, Copy)]
struct Base<'h> {
    place: Place,
    view: Option<View<'h>>,
    /// Its name, where it is a container.
    container: Option<&'h str>,
}

impl<'h> PodContents<'h> {
    fn new(rules: &[&'h Rule], layout: &'h Layout, shape: &'h Shape, draft: &'h Draft<'h>) -> Self {
        let [metadata, spec] =
            draft.at(&layout.pod).map(|pod| pod.select(["metadata", "spec"])).unwrap_or_default();
        let blocks = || rules.iter().flat_map(|rule| &rule.blocks);
        let injected = || rules.iter().flat_map(|rule| &rule.injected);
        let list = |asked: bool, name| {
            NamedContainer::all(spec.filter(|_| asked).and_then(|spec| present(spec, name)))
        };
        let regular = injected().any(|one| one.list == "containers");
        let mut holding = Self {
            metadata,
            spec,
            layout,
            shape,
            draft,
            known: draft.known(),
            containers: list(regular || blocks().next().is_some(), "containers"),
            init_containers: list(blocks().any(|block| block.select.init), "initContainers"),
            brought: InjectedNames::by(rules),
            users: None,
            default_container: OnceCell::new(),
            is_of_many: rules.len() > list_index::FEW || draft.keeps_indexes(),
            searched: HashMap::new(),
        };
        if holding.is_of_many {
            holding.users = Some([&holding.containers, &holding.init_containers].map(|list| {
                let users = list.iter().enumerate().filter(|(_, one)| !holding.brought.has(&one.name));
                users.map(|(index, _)| index).collect()
            }));
            holding.search(rules);
        }
        holding
    }

    /// Adds the names of what `rule` brings and the object holds.
    fn of(&self, rule: &Rule, names: &mut Words) {
        let Shape { metadata, spec, volumes, containers, container, .. } = *self.shape;
        let at = || self.layout.metadata.clone();
        self.parts(self.metadata, at, metadata, &rule.metadata, names, |names, path, key| {
            let map = path.first().map_or("", String::as_str);
            names.push([map.trim_end_matches('s'), ":", key]);
        });
        let at = || self.at(SPEC);
        self.parts(self.spec, at, spec, &rule.spec, names, |names, path, key| match path {
            [list] if list == "imagePullSecrets" => names.push(["pullSecret:", key]),
            path => names.push(["spec:"].into_iter().chain(steps(path)).chain([key])),
        });
        let pod = Base { place: SPEC, view: self.spec, container: None };
        self.items(pod, "volumes", volumes, &rule.volumes, names, |names, key| names.push(["vol:", key]));
        for one in &rule.injected {
            let word = if one.list == "containers" { "container:" } else { "init:" };
            let item = std::slice::from_ref(&one.item);
            self.items(pod, one.list, containers, item, names, |names, key| names.push([word, key]));
        }
        if rule.injected.iter().any(|one| one.list == "containers")
            && *self.default_container.get_or_init(|| self.has_default_container())
        {
            names.push(["annotation:", DEFAULT_CONTAINER]);
        }
        for block in &rule.blocks {
            let lists: Vec<_> = block.lists.iter().map(|list| (list, container.field(list.member))).collect();
            let init = if block.select.init { self.init_containers.as_slice() } else { &[] };
            let lists_of = [("containers", &*self.containers), ("initContainers", init)];
            for (number, (list, named)) in lists_of.into_iter().enumerate() {
                let selected = match self.users.as_ref().and_then(|users| users.get(number)) {
                    Some(users) => {
                        let users = users.iter().filter_map(|index| Some((*index, named.get(*index)?)));
                        selected_of(users, &block.select)
                    }
                    None => selectable(named, &block.select, &self.brought),
                };
                for (index, name) in selected {
                    let view = named.get(index).map(|one| one.view);
                    let base = Base { place: (list, index), view, container: Some(name) };
                    for (BlockList { member, items }, schema) in &lists {
                        let word = match *member {
                            "volumeMounts" => "mount",
                            "volumeDevices" => "device",
                            "ports" => "port",
                            member => member,
                        };
                        self.items(base, member, *schema, items, names, |names, key| {
                            names.push([word, ":", name, "/", key]);
                        });
                    }
                    let at = || self.at(base.place);
                    self.parts(view, at, container, &block.parts, names, |names, path, key| {
                        names.push(["set:", name, "/"].into_iter().chain(steps(path)).chain([key]));
                    });
                }
            }
        }
    }

    /// Adds what the list `name` of `base` holds of the items `wanted`.
    fn items(
        &self,
        base: Base<'_>,
        name: &'static str,
        schema: Schema<'_>,
        wanted: &[Item],
        names: &mut Words,
        word: impl Fn(&mut Words, &str),
    ) {
        let mut add = |item: &Item| word(names, called(&item.overlay, &item.key, schema));
        if wanted.iter().all(|item| self.known.has(item, base.container)) {
            return wanted.iter().for_each(add);
        }
        if self.is_of_many && !matches!(schema.list(), List::Map(_)) {
            let list = base.view.and_then(|view| present(view, name));
            let is_listed =
                |item: &&Item| self.is_listed(list, || self.at(base.place).child(name), item, name, schema);
            return wanted.iter().filter(is_listed).for_each(add);
        }
        let searched;
        let existing = if let Some(existing) = self.searched.get(&(base.place, name)) {
            existing
        } else {
            let list = base.view.and_then(|view| present(view, name));
            searched = ItemLookup::new(list, schema, wanted.iter());
            &searched
        };
        for item in wanted {
            let found = existing.find(item, name, schema);
            if found.is_some_and(|(_, found)| holds(found, item, name, schema.item())) {
                add(item);
            }
        }
    }

    /// Adds what `base`, which stands at `at`, holds of the parts `wanted`.
    fn parts(
        &self,
        base: Option<View<'_>>,
        at: impl Fn() -> Pointer,
        schema: Schema<'_>,
        wanted: &[Part],
        names: &mut Words,
        word: impl Fn(&mut Words, &[String], &str),
    ) {
        for Part { path, listed, item } in wanted {
            let place = path.iter().try_fold(base, |place, name| Some(present(place?, name))).flatten();
            let schema = path.iter().fold(schema, |schema, name| schema.field(name));
            let name = path.last().map_or("", String::as_str);
            let there = if *listed {
                let list = || path.iter().fold(at(), |place, name| place.child(name));
                self.is_listed(place, list, item, name, schema)
            } else {
                let name = if pod::is_text_map(name) { name } else { &item.key };
                let found = place.and_then(|place| present(place, &item.key));
                found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
            };
            if there {
                let key = if *listed { called(&item.overlay, &item.key, schema) } else { &item.key };
                word(names, path, key);
            }
        }
    }

    /// Whether there is the annotation that a container in the first place brings along.
    fn has_default_container(&self) -> bool {
        let mut names =
            self.containers.iter().map(|one| &*one.name).filter(|name| !name.is_empty()).peekable();
        if !names.peek().is_some_and(|first| self.brought.has(first)) {
            return false;
        }
        let user = names.find(|name| !self.brought.has(name));
        let annotations = self.metadata.and_then(|metadata| present(metadata, "annotations"));
        user.is_some() && written(annotations, DEFAULT_CONTAINER).as_deref() == user
    }
}

/// Each step with what parts it from the next.
fn steps(path: &[String]) -> impl Iterator<Item = &str> {
    path.iter().flat_map(|step| [step, "/"])
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
