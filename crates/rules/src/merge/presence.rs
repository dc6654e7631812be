//! Which parts of rules the pod has after all rules: [`status_annotation`](super::status_annotation) lists them, and
//! [`part_state`](super::part_state) tells an explanation about them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use vestibule_patch::{List, Pointer, Schema, View};

use super::contains::{contains, holds, means_absence, present};
use super::draft::Draft;
use super::injected::DEFAULT_CONTAINER;
use super::injected_names::InjectedNames;
use super::item_lookup::ItemLookup;
use super::list_index::{self, IndexKey};
use super::selection::{User, select_users, users_of};
use crate::overlay::Overlay;
use crate::pod::{self, CONTAINER_LISTS, Shape};
use crate::rule::{Base, BlockList, Item, OnConflict, Part, Rule};
use crate::subject::string_member;

/// A part of a rule in one place of the pod.
pub(super) struct PlacedPart<'p> {
    pub(super) owner: Owner<'p>,
    /// The list of the owner, for volumes, injected containers and the lists of a block.
    pub(super) list: Option<&'static str>,
    /// The path below the owner, for all other parts.
    pub(super) path: &'p [String],
    pub(super) item: &'p Item,
    /// The name of the item: its key, or a name within it. It is never a value of the item.
    pub(super) name: &'p str,
    pub(super) state: PartState,
}

/// Whether the object has a part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartState {
    /// The object has it.
    Present,
    /// The object is without the field, which means the same.
    Omitted,
    /// The object has something else, which the rule keeps.
    Kept,
    /// The object has something else, which a later rule or block has set.
    Overridden,
    /// The block of the part selects no container.
    NotSelected,
}

impl PartState {
    fn of(is_present: bool, item: &Item) -> Self {
        match item.on_conflict {
            _ if is_present => Self::Present,
            OnConflict::Override => Self::Overridden,
            _ => Self::Kept,
        }
    }
}

/// The object that a part is added to.
#[derive(Clone, Copy)]
pub(super) enum Owner<'p> {
    Metadata,
    Spec,
    /// A container with its list and index. The name is empty if no container is selected.
    Container(&'static str, usize, &'p str),
}

/// The pod after all rules.
pub(super) struct PodContents<'h> {
    metadata: Option<View<'h>>,
    spec: Option<View<'h>>,
    pub(super) draft: &'h Draft<'h>,
    /// The containers of each of [`CONTAINER_LISTS`] that no rule injects.
    users: [OnceCell<Vec<User<'h>>>; CONTAINER_LISTS.len()],
    injected_names: InjectedNames<'h>,
    has_default_container: OnceCell<bool>,
    /// Whether lists have indexes.
    many: bool,
}

impl<'h> PodContents<'h> {
    /// `rules` have been applied to `draft`. If they are many, indexes are built, so that each list is searched once for all rules.
    pub(super) fn new(rules: &[&'h Rule], draft: &'h mut Draft<'_>) -> Self {
        let injected_names = InjectedNames::of(rules);
        let many = rules.len() > list_index::FEW || draft.keeps_indexes();
        if many {
            index_lists(rules, &injected_names, draft);
        }
        let draft = &*draft;
        let [metadata, spec] =
            draft.at(&draft.layout.pod).map(|pod| pod.select(["metadata", "spec"])).unwrap_or_default();
        let (users, has_default_container) = Default::default();
        Self { metadata, spec, draft, users, injected_names, has_default_container, many }
    }

    /// Calls `each` with the parts of `rule` outside of its blocks.
    pub(super) fn parts_of_pod<'p>(&'p self, rule: &'p Rule, each: &mut impl FnMut(PlacedPart<'p>)) {
        let Shape { metadata, spec, volumes, containers, .. } = self.draft.shape;
        self.parts(Owner::Metadata, self.metadata, metadata, &rule.metadata, each);
        self.parts(Owner::Spec, self.spec, spec, &rule.spec, each);
        self.items(Owner::Spec, self.spec, "volumes", volumes, &rule.volumes, each);
        for one in &rule.injected {
            let item = std::slice::from_ref(&one.item);
            self.items(Owner::Spec, self.spec, one.list, containers, item, each);
        }
    }

    /// Calls `each` with the parts of the blocks of `rule`, for each container that the block selects.
    pub(super) fn parts_of_blocks<'p>(&'p self, rule: &'p Rule, each: &mut impl FnMut(PlacedPart<'p>)) {
        let schema = self.draft.shape.container;
        for block in &rule.blocks {
            let lists: Vec<_> = block.lists.iter().map(|list| (list, schema.field(list.member))).collect();
            let mut is_for_none = true;
            for (list, users) in block.select.lists().zip(&self.users) {
                let find = || users_of(self.spec.and_then(|spec| present(spec, list)), &self.injected_names);
                for User { index, container } in select_users(users.get_or_init(find), &block.select) {
                    is_for_none = false;
                    let (owner, view) =
                        (Owner::Container(list, *index, &container.name), Some(container.view));
                    for (BlockList { member, items }, schema) in &lists {
                        self.items(owner, view, member, *schema, items, each);
                    }
                    self.parts(owner, view, schema, &block.parts, each);
                }
            }
            if is_for_none {
                let items = block.lists.iter().flat_map(|list| &list.items);
                for item in items.chain(block.parts.iter().map(|part| &part.item)) {
                    let owner = Owner::Container("containers", 0, "");
                    each(PlacedPart {
                        owner,
                        list: None,
                        path: &[],
                        item,
                        name: "",
                        state: PartState::NotSelected,
                    });
                }
            }
        }
    }

    /// Whether the pod has the annotation that a container in the first place adds.
    pub(super) fn has_default_container(&self) -> bool {
        *self.has_default_container.get_or_init(|| {
            let containers = self.spec.and_then(|spec| present(spec, "containers"));
            let names = containers.into_iter().flat_map(View::iter);
            let names = names.map(|one| string_member(one, "name").unwrap_or_default());
            let mut names = names.filter(|name| !name.is_empty()).peekable();
            if !names.peek().is_some_and(|first| self.injected_names.has(first)) {
                return false;
            }
            let user = names.find(|name| !self.injected_names.has(name));
            let annotations = self.metadata.and_then(|metadata| present(metadata, "annotations"));
            user.is_some() && string_member(annotations, DEFAULT_CONTAINER) == user
        })
    }

    /// The `wanted` items of the list `list` of `owner`.
    fn items<'p>(
        &'p self,
        owner: Owner<'p>,
        view: Option<View<'p>>,
        list: &'static str,
        schema: Schema<'_>,
        wanted: &'p [Item],
        each: &mut impl FnMut(PlacedPart<'p>),
    ) {
        let mut add = |item: &'p Item, is_present: bool| {
            let name = called(&item.overlay, &item.key, schema);
            let state = PartState::of(is_present, item);
            each(PlacedPart { owner, list: Some(list), path: &[], item, name, state });
        };
        let container = match owner {
            Owner::Metadata | Owner::Spec => None,
            Owner::Container(_, _, name) => Some(name),
        };
        if wanted.iter().all(|item| self.draft.known.has(item, container)) {
            return wanted.iter().for_each(|item| add(item, true));
        }
        let found = view.and_then(|view| present(view, list));
        let lookup = self.lookup(found, || self.pointer(owner).child(list), schema, wanted.iter());
        for item in wanted {
            let found = lookup.find(item, list, schema);
            add(item, found.is_some_and(|(_, found)| holds(found, item, list, schema.item())));
        }
    }

    /// The `wanted` parts of `owner`.
    fn parts<'p>(
        &'p self,
        owner: Owner<'p>,
        view: Option<View<'p>>,
        schema: Schema<'_>,
        wanted: &'p [Part],
        each: &mut impl FnMut(PlacedPart<'p>),
    ) {
        for Part { path, listed, item } in wanted {
            let place = path.iter().try_fold(view, |place, name| Some(present(place?, name))).flatten();
            let schema = path.iter().fold(schema, |schema, name| schema.field(name));
            let map = path.last().map_or("", String::as_str);
            let state = if *listed {
                let list = || path.iter().fold(self.pointer(owner), |place, name| place.child(name));
                let found = self.lookup(place, list, schema, std::iter::once(item)).find(item, map, schema);
                PartState::of(found.is_some_and(|(_, found)| holds(found, item, map, schema.item())), item)
            } else {
                let name = if pod::is_text_map(map) { map } else { &item.key };
                match place.and_then(|place| present(place, &item.key)) {
                    Some(found) => {
                        PartState::of(contains(found, &item.overlay, name, schema.field(&item.key)), item)
                    }
                    None if means_absence(|| place, map, &item.key, &item.overlay) => PartState::Omitted,
                    None => PartState::of(false, item),
                }
            };
            let name = if *listed { called(&item.overlay, &item.key, schema) } else { &item.key };
            each(PlacedPart { owner, list: None, path, item, name, state });
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
        let indexes = if self.many { self.draft.indexes(&at()) } else { &[] };
        ItemLookup::new(list, indexes, schema, wanted)
    }

    fn pointer(&self, owner: Owner<'_>) -> Pointer {
        match owner {
            Owner::Metadata => self.draft.layout.metadata.clone(),
            Owner::Spec => self.draft.layout.spec.clone(),
            Owner::Container(list, index, _) => self.draft.layout.list(list).item(index),
        }
    }
}

/// Builds indexes of the keyed lists that `rules` add to.
fn index_lists(rules: &[&Rule], injected_names: &InjectedNames<'_>, draft: &mut Draft<'_>) {
    let (layout, shape) = (draft.layout, draft.shape);
    let mut lists = BTreeMap::new();
    for (destination, _) in rules.iter().flat_map(|rule| rule.parts()) {
        let Some(list) = destination.list else { continue };
        let in_containers = matches!(destination.base, Base::Containers(..));
        lists.entry((in_containers, list)).or_insert_with(|| destination.schema(&shape).list());
    }
    let mut containers = Vec::new();
    for list in CONTAINER_LISTS {
        let pointer = layout.list(list);
        let users = users_of(draft.at(&pointer), injected_names);
        containers.extend(users.iter().map(|user| pointer.item(user.index)));
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

/// See [`PlacedPart::name`].
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
        Overlay::List(_) | Overlay::Expression(_) | Overlay::Loop(_) => "*",
    }
}
