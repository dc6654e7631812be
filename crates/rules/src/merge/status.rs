//! The status annotation: the names of all parts of rules that a pod has. People read it, and tools that search for pods of older
//! rules. The injector does not read it.

mod annotation;

use std::cell::{LazyCell, OnceCell};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use vestibule_patch::{List, Pointer, Schema, View};

use super::contains::{contains, holds, present};
use super::draft::Draft;
use super::injected::DEFAULT_CONTAINER;
use super::injected_names::InjectedNames;
use super::item_lookup::ItemLookup;
use super::json;
use super::known_present::KnownPresent;
use super::list_index::{self, IndexKey};
use super::selection::select_users;
use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::pod::{self, Shape};
use crate::rule::{Base, Block, BlockList, Item, Part, Rule};
use crate::subject::{Layout, NamedContainer, written};
use annotation::{Words, annotation};

/// Sets the status annotation if it is not up to date. `hash` identifies the documents of the rules. Only pods get it: in a
/// template it would roll out the workload after each change of the rules.
pub(crate) fn record_status(
    rules: &[&Rule],
    layout: &Layout,
    shape: &Shape,
    hash: &str,
    draft: &mut Draft<'_>,
) {
    if !layout.pod.is_root() {
        return;
    }
    let many = rules.len() > list_index::FEW || draft.keeps_indexes();
    if many {
        index_lists(rules, layout, shape, draft);
    }
    let status = status(rules, layout, shape, hash, draft, many);
    let found = draft.at(&layout.status).and_then(View::as_str);
    if found.is_some_and(|found| found == status) {
        return;
    }
    // The operation can fail only if the annotations are not a map, and then the rules have failed before.
    let _ = json::text(&status).and_then(|status| draft.set(layout.status.clone(), status, ORIGIN.clone()));
}

/// The origin of the annotation, which belongs to no rule.
static ORIGIN: LazyLock<Origin> = LazyLock::new(|| {
    let injector: Arc<str> = Arc::from("injector");
    Origin { rule: Arc::clone(&injector), clause: Arc::from("status"), source: injector, line: 0 }
});

/// Builds indexes of the keyed lists that `rules` add to, so that each list is searched once for all rules.
fn index_lists(rules: &[&Rule], layout: &Layout, shape: &Shape, draft: &mut Draft<'_>) {
    let mut lists = BTreeMap::new();
    for (location, _) in rules.iter().flat_map(|rule| rule.parts()) {
        let Some(list) = location.list else { continue };
        let in_containers = matches!(location.base, Base::Containers(..));
        lists.entry((in_containers, list)).or_insert_with(|| location.schema(shape).list());
    }
    let injected_names = InjectedNames::of(rules);
    let mut containers = Vec::new();
    for list in CONTAINERS {
        let pointer = layout.list(list);
        let all = NamedContainer::all(draft.at(&pointer));
        containers.extend(users(&all, &injected_names).into_iter().map(|index| pointer.item(index)));
    }
    for ((in_containers, list), kind) in lists {
        let List::Map(keys) = kind else { continue };
        let key = IndexKey::Keys(keys);
        if in_containers {
            containers.iter().for_each(|container| draft.index(&container.child(list), &key));
        } else {
            draft.index(&layout.list(list), &key);
        }
    }
}

/// The text of the annotation.
fn status(
    rules: &[&Rule],
    layout: &Layout,
    shape: &Shape,
    hash: &str,
    draft: &Draft<'_>,
    many: bool,
) -> String {
    let contents = PodContents::new(rules, layout, shape, draft, many);
    let authors = LazyCell::new(|| draft.authors());
    let (mut acting, mut names) = (Words::new(), Words::new());
    for rule in rules {
        let before = names.len();
        contents.add_names(rule, &mut names);
        if names.len() > before || authors.contains(&rule.name) {
            acting.push([&*rule.name, "@", rule.hash().get(..4).unwrap_or_default()]);
        }
    }
    annotation(hash, &acting, &names)
}

/// The lists with containers that blocks may select.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The pod after all rules.
struct PodContents<'h> {
    metadata: Option<View<'h>>,
    spec: Option<View<'h>>,
    layout: &'h Layout,
    shape: &'h Shape,
    draft: &'h Draft<'h>,
    known: &'h KnownPresent,
    /// The containers of each of [`CONTAINERS`], if a rule needs them.
    containers: [Vec<NamedContainer<'h>>; CONTAINERS.len()],
    /// The indices of the containers that no rule injects.
    users: [Vec<usize>; CONTAINERS.len()],
    injected_names: InjectedNames<'h>,
    has_default_container: OnceCell<bool>,
    /// Whether many rules are applied, so that lists have indexes.
    many: bool,
}

/// The object that has a list: the specification, or a container.
#[derive(Clone, Copy)]
struct ListOwner<'h> {
    view: Option<View<'h>>,
    /// The list, index and name of a container.
    container: Option<(&'static str, usize, &'h str)>,
}

impl<'h> PodContents<'h> {
    fn new(
        rules: &[&'h Rule],
        layout: &'h Layout,
        shape: &'h Shape,
        draft: &'h Draft<'h>,
        many: bool,
    ) -> Self {
        let [metadata, spec] =
            draft.at(&layout.pod).map(|pod| pod.select(["metadata", "spec"])).unwrap_or_default();
        let mut blocks = rules.iter().flat_map(|rule| &rule.blocks).peekable();
        let injects = rules.iter().flat_map(|rule| &rule.injected).any(|one| one.list == "containers");
        let needed = [injects || blocks.peek().is_some(), blocks.any(|block| block.select.init)];
        let mut lists = CONTAINERS.into_iter().zip(needed);
        let containers = [(); CONTAINERS.len()].map(|()| {
            let list = lists.next().filter(|(_, needed)| *needed);
            NamedContainer::all(list.and_then(|(name, _)| present(spec?, name)))
        });
        let injected_names = InjectedNames::of(rules);
        let users = containers.each_ref().map(|list| users(list, &injected_names));
        let (known, has_default_container) = (draft.known(), OnceCell::new());
        Self {
            metadata,
            spec,
            layout,
            shape,
            draft,
            known,
            containers,
            users,
            injected_names,
            has_default_container,
            many,
        }
    }

    /// Adds the names of the parts of `rule` that the pod has.
    fn add_names(&self, rule: &Rule, names: &mut Words) {
        let Shape { metadata, spec, volumes, containers, .. } = *self.shape;
        let at = || self.layout.metadata.clone();
        self.parts(self.metadata, at, metadata, &rule.metadata, names, |names, path, key| {
            let map = path.first().map_or("", String::as_str);
            names.push([map.trim_end_matches('s'), ":", key]);
        });
        let pod = ListOwner { view: self.spec, container: None };
        let at = || self.pointer(pod);
        self.parts(self.spec, at, spec, &rule.spec, names, |names, path, key| match path {
            [list] if list == "imagePullSecrets" => names.push(["pullSecret:", key]),
            path => names.push(["spec:"].into_iter().chain(steps(path)).chain([key])),
        });
        self.items(pod, "volumes", volumes, &rule.volumes, names, |names, key| names.push(["vol:", key]));
        for one in &rule.injected {
            let word = if one.list == "containers" { "container:" } else { "init:" };
            let item = std::slice::from_ref(&one.item);
            self.items(pod, one.list, containers, item, names, |names, key| names.push([word, key]));
        }
        if rule.injected.iter().any(|one| one.list == "containers")
            && *self.has_default_container.get_or_init(|| self.has_default_container())
        {
            names.push(["annotation:", DEFAULT_CONTAINER]);
        }
        rule.blocks.iter().for_each(|block| self.add_names_of_block(block, names));
    }

    fn add_names_of_block(&self, block: &Block, names: &mut Words) {
        let schema = self.shape.container;
        let lists: Vec<_> = block.lists.iter().map(|list| (list, schema.field(list.member))).collect();
        let selectable = CONTAINERS.into_iter().zip(&self.containers).zip(&self.users);
        for ((list, containers), users) in selectable.take(1 + usize::from(block.select.init)) {
            let users = users.iter().filter_map(|index| Some((*index, containers.get(*index)?)));
            for (index, name) in select_users(users, &block.select) {
                let view = containers.get(index).map(|one| one.view);
                let owner = ListOwner { view, container: Some((list, index, name)) };
                for (BlockList { member, items }, schema) in &lists {
                    let word = match *member {
                        "volumeMounts" => "mount",
                        "volumeDevices" => "device",
                        "ports" => "port",
                        member => member,
                    };
                    self.items(owner, member, *schema, items, names, |names, key| {
                        names.push([word, ":", name, "/", key]);
                    });
                }
                let at = || self.pointer(owner);
                self.parts(view, at, schema, &block.parts, names, |names, path, key| {
                    names.push(["set:", name, "/"].into_iter().chain(steps(path)).chain([key]));
                });
            }
        }
    }

    /// Adds the names of the `wanted` items that the list `name` of `owner` has.
    fn items(
        &self,
        owner: ListOwner<'_>,
        name: &'static str,
        schema: Schema<'_>,
        wanted: &[Item],
        names: &mut Words,
        word: impl Fn(&mut Words, &str),
    ) {
        let mut add = |item: &Item| word(names, called(&item.overlay, &item.key, schema));
        let container = owner.container.map(|(_, _, name)| name);
        if wanted.iter().all(|item| self.known.has(item, container)) {
            return wanted.iter().for_each(add);
        }
        let list = owner.view.and_then(|view| present(view, name));
        let lookup = self.lookup(list, || self.pointer(owner).child(name), schema, wanted.iter());
        for item in wanted {
            let found = lookup.find(item, name, schema);
            if found.is_some_and(|(_, found)| holds(found, item, name, schema.item())) {
                add(item);
            }
        }
    }

    /// Adds the names of the `wanted` parts that `base`, the object at `at`, has.
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
            let found = if *listed {
                let list = || path.iter().fold(at(), |place, name| place.child(name));
                let found = self.lookup(place, list, schema, std::iter::once(item)).find(item, name, schema);
                found.is_some_and(|(_, found)| holds(found, item, name, schema.item()))
            } else {
                let name = if pod::is_text_map(name) { name } else { &item.key };
                let found = place.and_then(|place| present(place, &item.key));
                found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
            };
            if found {
                let key = if *listed { called(&item.overlay, &item.key, schema) } else { &item.key };
                word(names, path, key);
            }
        }
    }

    /// A lookup of the `wanted` items in `list`, with its indexes if there are any.
    fn lookup<'i, 'v>(
        &self,
        list: Option<View<'v>>,
        at: impl Fn() -> Pointer,
        schema: Schema<'_>,
        wanted: impl Iterator<Item = &'i Item> + Clone,
    ) -> ItemLookup<'_, 'v, 'i> {
        let indexes = if self.many { self.draft.indexes(&at()) } else { None };
        match (list, indexes) {
            (Some(list), Some(indexes)) => ItemLookup::Indexed(list, indexes),
            (list, _) => ItemLookup::new(list, schema, wanted),
        }
    }

    fn pointer(&self, owner: ListOwner<'_>) -> Pointer {
        match owner.container {
            None => self.layout.spec.clone(),
            Some((list, index, _)) => self.layout.list(list).item(index),
        }
    }

    /// Whether the pod has the annotation that a container in the first place adds.
    fn has_default_container(&self) -> bool {
        let [containers, _] = &self.containers;
        let mut names = containers.iter().map(|one| &*one.name).filter(|name| !name.is_empty()).peekable();
        if !names.peek().is_some_and(|first| self.injected_names.has(first)) {
            return false;
        }
        let user = names.find(|name| !self.injected_names.has(name));
        let annotations = self.metadata.and_then(|metadata| present(metadata, "annotations"));
        user.is_some() && written(annotations, DEFAULT_CONTAINER).as_deref() == user
    }
}

/// The indices of the containers that no rule injects.
fn users(containers: &[NamedContainer<'_>], injected_names: &InjectedNames<'_>) -> Vec<usize> {
    let users = containers.iter().enumerate().filter(|(_, one)| !injected_names.has(&one.name));
    users.map(|(index, _)| index).collect()
}

/// Each step of a path, followed by a slash.
fn steps(path: &[String]) -> impl Iterator<Item = &str> {
    path.iter().flat_map(|step| [step, "/"])
}

/// The name of an item in the annotation: its key, or a name within it. It is never a value of the item.
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
