//! One rule laid into an object: wholly, or not at all.

mod positions;
mod blocks;
mod injected_names;
mod overrides;
mod contains;
mod draft;
mod item_lookup;
mod dependencies;
mod known_present;
mod list_index;
mod injected;
mod json;
mod overlay_onto;
mod parts;
mod insertions;
mod ports;
mod removals;
mod container_checks;
mod standing;
mod status;
mod verify;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::{List, Pointer, Schema, View};

pub(crate) use positions::{restore_strict_positions, position_warnings};
pub(crate) use injected_names::InjectedNames;
use overrides::Overrides;
pub(crate) use contains::{contains, find, holds, is_open, present};
pub(crate) use draft::{Draft, ShapeError, authors};
use item_lookup::ItemLookup;
use dependencies::RuleDependencies;
use list_index::IndexKey;
pub(crate) use injected::DEFAULT_CONTAINER;
use insertions::Insertions;
use ports::PortIndex;
pub(crate) use container_checks::ONLY_LASTING;
pub(crate) use standing::{Standing, Standings, standings};
pub(crate) use status::record_status;

use crate::decision::Origin;
use crate::diagnostic::shown;
use crate::overlay::Overlay;
use crate::pod::Shape;
use crate::rule::{Clause, Item, Policy, Rule};
use crate::subject::{Layout, NamedContainer, written};

/// The lists of a pod that hold containers; a name is taken if any of them has it.
pub(crate) const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Why a rule cannot be laid in.
pub(crate) struct Failure {
    pub(crate) clause: Clause,
    pub(crate) sentence: String,
    /// What the rule says about it, if something stands in the way; otherwise the result would be no valid pod.
    pub(crate) conflict: Option<Policy>,
}

/// What all rules of one evaluation share.
pub(crate) struct MergeContext<'s> {
    layout: &'s Layout,
    shape: &'s Shape,
    overrides: Overrides,
    /// Blocks are for the others.
    brought: InjectedNames<'s>,
    dependencies: RefCell<RuleDependencies<'s>>,
    /// How many init containers, and how many others, stand first because they are to, as far as rules looked.
    leading: [Cell<usize>; 2],
    /// Where many rules ask for it: the names of the containers in a list that no rule brings.
    users: RefCell<HashMap<&'static str, Option<Vec<Arc<str>>>>>,
    /// The same: what containers listen to.
    ports: RefCell<Option<PortIndex>>,
}

impl<'s> MergeContext<'s> {
    /// For `rules` in a pod whose specification `spec` finds.
    pub(crate) fn new<'d>(
        rules: &[&'s Rule],
        spec: impl Fn() -> Option<View<'d>>,
        layout: &'s Layout,
        shape: &'s Shape,
    ) -> Self {
        let brought = InjectedNames::by(rules);
        let overrides = Overrides::of(rules, spec, &brought);
        let dependencies = RefCell::new(RuleDependencies::among(rules.len()));
        let (leading, users, ports) = Default::default();
        Self { layout, shape, overrides, brought, dependencies, leading, users, ports }
    }

    /// What is known of the containers in front, to go back to.
    pub(crate) fn leading(&self) -> [usize; 2] {
        self.leading.each_ref().map(Cell::get)
    }

    /// `rule`, the `rank`th, has failed, and what it did is undone; `leads` was known before it.
    pub(crate) fn roll_back(&self, rank: usize, rule: &Rule, leading: [usize; 2]) {
        self.dependencies.borrow_mut().go(rank);
        self.leading.iter().zip(leading).for_each(|(lead, before)| lead.set(before));
        let injected = rule.injected.iter().map(|one| &one.item);
        let in_blocks = rule.blocks.iter().flat_map(|block| &block.lists).flat_map(|list| &list.items);
        // It may have taken ports away that are there again.
        if !rule.removals.is_empty() || injected.chain(in_blocks).any(|item| item.policy == Policy::Override)
        {
            self.ports.take();
        }
    }

    fn lead(&self, list: &str) -> &Cell<usize> {
        let [init, others] = &self.leading;
        if list == "initContainers" { init } else { others }
    }

    /// Of rules that `failed` the ranks of those that are out; the others may not fail without them.
    pub(crate) fn independent_failures(&self, failed: &[(usize, &Rule)]) -> HashSet<usize> {
        self.dependencies.borrow().independent_failures(failed)
    }
}

/// Lays `rule`, the `rank`th of those that `context` is made for, with values for its expressions, into `draft`. After a
/// failure the draft has to go back to what it was.
pub(crate) fn apply(rule: &Rule, rank: usize, context: &MergeContext<'_>, draft: &mut Draft<'_>) -> Result<(), Failure> {
    draft.open(context.layout);
    let looks_often = rank >= list_index::FEW || looks(rule) >= list_index::FEW;
    let mut merge = Merge { rule, rank, context, draft, looks_often };
    // First of all, because a container that takes the first place writes an annotation unless there is one.
    let Layout { metadata, spec, .. } = context.layout;
    merge.removals()?;
    merge.selected_upon()?;
    merge.parts(metadata, "", 0, context.shape.metadata, &rule.metadata)?;
    let class = merge.priority_class();
    merge.parts(spec, "", 0, context.shape.spec, &rule.spec)?;
    merge.forget_priority(class.as_deref())?;
    merge.volumes()?;
    let mut firsts = Vec::new();
    for list in ["initContainers", "containers"] {
        merge.injected(list, &mut firsts)?;
    }
    for (index, block) in rule.blocks.iter().enumerate() {
        merge.block(index, block)?;
    }
    merge.verify()?;
    merge.verify_containers()?;
    merge.verify_removed()
}

/// How often `rule` looks into the same lists, to say the least. Counted beforehand: who began to keep indexes in the middle of a
/// rule would miss what this has decided to bring, and has not brought.
fn looks(rule: &Rule) -> usize {
    let in_blocks = rule.blocks.iter().flat_map(|block| &block.lists).filter(|list| list.member == "ports");
    let brought = rule.injected.iter().filter_map(|one| one.item.overlay.get("ports"));
    let ports = in_blocks.map(|list| list.items.len()).sum::<usize>()
        + brought.map(|ports| ports.items().len()).sum::<usize>();
    rule.injected.len() + rule.removals.len() + rule.blocks.len() + ports
}

struct Merge<'m, 'r, 's, 'd> {
    rule: &'r Rule,
    rank: usize,
    /// Whether this rule, or many, look into lists so often that indexes of them are kept.
    looks_often: bool,
    context: &'m MergeContext<'s>,
    draft: &'m mut Draft<'d>,
}

/// What becomes of the items for one list.
struct Sorted<'r> {
    /// How many items the list has.
    length: usize,
    new: Vec<&'r Item>,
    /// Items that it holds already.
    held: Vec<&'r Item>,
    /// Items that override what stands at an index.
    overriding: Vec<(usize, &'r Item)>,
}

impl<'r> Merge<'_, 'r, '_, '_> {
    fn volumes(&mut self) -> Result<(), Failure> {
        let items = self.unclaimed(&self.rule.volumes, 0, || "volumes".to_owned());
        if items.is_empty() {
            return Ok(());
        }
        let list = self.context.layout.list("volumes");
        let schema = self.context.shape.volumes;
        let sorted = self.sort(&list, "volumes", schema, items)?;
        self.override_items(&list, schema, &sorted)?;
        self.draft.known_present().note(sorted.held, None, false);
        self.draft.known_present().note(sorted.new.iter().copied(), None, true);
        self.insert(&list, sorted.length, insertions::at(sorted.length, sorted.new))
    }

    /// The items that no later rule or block overrides.
    fn unclaimed(
        &self,
        items: impl IntoIterator<Item = &'r Item>,
        block: usize,
        scope: impl Fn() -> String,
    ) -> Vec<&'r Item> {
        let claimed = |item: &&Item| self.yields(&scope, &item.key, block);
        items.into_iter().filter(|item| !claimed(item)).collect()
    }

    /// Whether a later rule or block overrides `key`.
    fn yields(&self, scope: impl FnOnce() -> String, key: &str, block: usize) -> bool {
        let later = self.context.overrides.by_later(scope, key, (self.rank, block));
        later.inspect(|later| self.context.dependencies.borrow_mut().yield_to(self.rank, *later)).is_some()
    }

    /// Tells items that are new from those that are there, with what becomes of the latter.
    fn sort(
        &mut self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: Vec<&'r Item>,
    ) -> Result<Sorted<'r>, Failure> {
        let mut sorted = Sorted { length: 0, new: Vec::new(), held: Vec::new(), overriding: Vec::new() };
        if items.is_empty() {
            return Ok(sorted);
        }
        self.index(list, name, schema, items.iter().map(|item| &item.overlay));
        let existing = match (self.draft.at(list), self.draft.indexes(list)) {
            (Some(list), Some(indexes)) => ItemLookup::Indexed(list, indexes),
            (list, _) => ItemLookup::new(list, schema, items.iter().copied()),
        };
        sorted.length = existing.len();
        for item in items {
            match existing.find(item, name, schema) {
                None => sorted.new.push(item),
                Some((_, found)) if holds(found, item, name, schema.item()) => sorted.held.push(item),
                Some((index, found)) => match item.policy {
                    Policy::Keep | Policy::KeepOwn => {}
                    Policy::Override => sorted.overriding.push((index, item)),
                    policy => return Err(conflict(item, policy, difference(name, found, item))),
                },
            }
        }
        Ok(sorted)
    }

    fn override_items(
        &mut self,
        list: &Pointer,
        schema: Schema<'_>,
        sorted: &Sorted<'r>,
    ) -> Result<(), Failure> {
        for (index, item) in &sorted.overriding {
            let place = list.item(*index);
            self.context.ports.take();
            self.change(&item.clause, |draft, origin| {
                overlay_onto::overlay_onto(draft, &place, &item.overlay, schema.item(), &origin)
            })?;
        }
        Ok(())
    }

    /// Inserts one after the other into a list of `length` items. A list that is not there comes as a whole; of sidecars and
    /// init containers, the first of the two, so that each has an origin of its own.
    fn insert(
        &mut self,
        list: &Pointer,
        mut length: usize,
        mut insertions: Insertions<'r>,
    ) -> Result<(), Failure> {
        let Some((_, first)) = insertions.first().copied() else { return Ok(()) };
        if length == 0 && self.draft.at(list).is_none() {
            let part = first.clause.list();
            let same = insertions.iter().take_while(|(_, item)| item.clause.text.starts_with(&*part.text));
            length = same.count();
            let rest = insertions.split_off(length);
            let clause = if length == 1 { first.clause.clone() } else { part };
            let mut items: Vec<&Item> = Vec::new();
            for (index, item) in insertions {
                items.insert(index.min(items.len()), item);
            }
            self.change(&clause, |draft, origin| draft.set(list.clone(), json::list(&items)?, origin))?;
            insertions = rest;
        }
        let rule = self.rule;
        let inserted = self.draft.insert(list, length, &insertions, |item| origin(rule, &item.clause));
        inserted.map_err(|(item, ShapeError(sentence))| invalid(&item.clause, sentence))
    }

    /// Has indexes kept of the list at `pointer` if somebody looks into it often, for such `items`.
    fn index<'i>(
        &mut self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: impl IntoIterator<Item = &'i Overlay, IntoIter: ExactSizeIterator>,
    ) {
        let items = items.into_iter();
        if !self.looks_often && items.len() < list_index::FEW {
            return;
        }
        match schema.list() {
            // Whoever has many items with keys looks once, for all of them.
            List::Map(keys) if self.looks_often => self.draft.index(list, &IndexKey::Keys(keys)),
            List::Map(_) => {}
            _ => {
                for by in items.filter_map(|item| IndexKey::of(schema, name, item)) {
                    self.draft.index(list, &by);
                }
            }
        }
    }

    /// The containers of the list at `pointer`, by the names that are known where many rules look.
    fn containers(&self, list: &Pointer) -> Vec<NamedContainer<'_>> {
        let found = self.draft.at(list);
        let (Some(all), Some(places)) = (found, self.draft.by_keys(list)) else {
            return NamedContainer::all(found);
        };
        let named = |(name, view)| NamedContainer { name: Cow::Borrowed(name), view };
        places.keys().zip(all.iter()).map(named).collect()
    }

    /// The container `name` of the list at `pointer`.
    fn container(&self, list: &Pointer, name: &str) -> Option<View<'_>> {
        match self.draft.by_keys(list) {
            Some(places) => self.draft.at(list)?.item(places.find(name)?),
            // Of doubled names the last counts, as everywhere.
            None => {
                self.existing(list).filter(|one| written(Some(*one), "name").as_deref() == Some(name)).last()
            }
        }
    }

    /// The items of the list at `pointer`.
    fn existing<'e>(&'e self, list: &Pointer) -> impl Iterator<Item = View<'e>> + use<'e> {
        self.draft.at(list).into_iter().flat_map(View::iter)
    }

    /// Changes the draft on behalf of `clause`.
    fn change(
        &mut self,
        clause: &Clause,
        change: impl FnOnce(&mut Draft<'_>, Origin) -> Result<(), ShapeError>,
    ) -> Result<(), Failure> {
        change(self.draft, origin(self.rule, clause)).map_err(|ShapeError(sentence)| invalid(clause, sentence))
    }
}

/// That `clause` of `rule` did something.
fn origin(rule: &Rule, clause: &Clause) -> Origin {
    Origin {
        rule: Arc::clone(&rule.name),
        clause: Arc::clone(&clause.text),
        source: Arc::clone(&rule.source),
        line: clause.at.line,
    }
}

fn difference(list: &str, found: View<'_>, item: &Item) -> String {
    let key = &item.key;
    match list {
        "volumes" => {
            let here = found.entries().into_iter().map(|(name, _)| shown(&name));
            let wanted = item.overlay.members().iter().map(|member| member.name.clone());
            let here = here.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            let wanted = wanted.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            format!("volume `{key}` exists already and differs (`{here}` in the pod, `{wanted}` in the rule)")
        }
        "containers" | "initContainers" => format!("container `{key}` exists already and differs"),
        "env" => format!("variable `{key}` has another value already"),
        "volumeMounts" => format!("something else is mounted at `{key}` already"),
        _ => format!("`{key}` in `{list}` exists already and differs"),
    }
}

fn conflict(item: &Item, policy: Policy, sentence: String) -> Failure {
    Failure { clause: item.clause.clone(), sentence, conflict: Some(policy) }
}

fn invalid(clause: &Clause, sentence: String) -> Failure {
    Failure { clause: clause.clone(), sentence, conflict: None }
}
