//! Adds items of a rule to a list of the object.

use std::borrow::Cow;

use vestibule_patch::{List, Operation, Pointer, Schema, View};

use super::contains::{first_difference, holds};
use super::draft::Draft;
use super::insertions::{self, Insertions};
use super::item_lookup::ItemLookup;
use super::list_index::{self, IndexKey};
use super::overlay_onto::{overlay_onto, remove_further};
use super::{Failure, Merge, conflict, invalid, json, origin};
use crate::decision::Origin;
use crate::diagnostic::printable_short;
use crate::key;
use crate::overlay::Overlay;
use crate::rule::{Clause, Item, OnConflict};
use crate::subject::{NamedContainer, string_member};

/// The items of a rule for one list, by what has to be done with them.
pub(super) struct SortedItems<'r> {
    /// The number of items in the list.
    pub(super) length: usize,
    pub(super) new: Vec<&'r Item>,
    /// Items that the list has already.
    pub(super) present: Vec<&'r Item>,
}

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn volumes(&mut self) -> Result<(), Failure> {
        let items = self.not_overridden(&self.rule.volumes, 0, || "volumes".to_owned());
        if items.is_empty() {
            return Ok(());
        }
        let items = self.not_claimed(items)?;
        let list = self.draft.layout.list("volumes");
        let schema = self.draft.shape.volumes;
        let sorted = self.sort(&list, "volumes", schema, items)?;
        self.draft.known.note(sorted.present, None, false);
        self.draft.known.note(sorted.new.iter().copied(), None, true);
        self.insert(&list, sorted.length, insertions::at(sorted.length, sorted.new))
    }

    /// The volumes without those that a claim template of a StatefulSet replaces in each pod.
    fn not_claimed(&self, mut volumes: Vec<&'r Item>) -> Result<Vec<&'r Item>, Failure> {
        for claim in self.claim_templates() {
            let Some(index) = volumes.iter().position(|volume| volume.key == claim) else { continue };
            let volume = volumes.remove(index);
            // The controller would replace the volume, so `override` is a conflict too.
            if !matches!(volume.on_conflict, OnConflict::Keep | OnConflict::KeepOwn) {
                let sentence = format!("volume `{}` exists already, from a claim template", volume.key);
                return Err(conflict(volume, volume.on_conflict, sentence));
            }
        }
        Ok(volumes)
    }

    /// The items that no later rule or block overrides.
    pub(super) fn not_overridden(
        &self,
        items: impl IntoIterator<Item = &'r Item>,
        block: usize,
        scope: impl Fn() -> String,
    ) -> Vec<&'r Item> {
        let overridden = |item: &&Item| self.is_overridden_later(&scope, &item.key, block);
        items.into_iter().filter(|item| !overridden(item)).collect()
    }

    /// Whether a later rule or block overrides `key`.
    pub(super) fn is_overridden_later(
        &self,
        scope: impl FnOnce() -> String,
        key: &str,
        block: usize,
    ) -> bool {
        let later = self.context.overrides.by_later(scope, key, (self.rank, block));
        let later =
            later.inspect(|later| self.context.dependencies.borrow_mut().yields_to(self.rank, *later));
        later.is_some()
    }

    /// Separates new items from items that the list has, and overrides the latter or not as `onConflict` says.
    pub(super) fn sort(
        &mut self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: Vec<&'r Item>,
    ) -> Result<SortedItems<'r>, Failure> {
        let mut sorted = SortedItems { length: 0, new: Vec::new(), present: Vec::new() };
        if items.is_empty() {
            return Ok(sorted);
        }
        self.index(list, name, schema, items.iter().map(|item| &item.overlay));
        let (found, indexes) = (self.draft.at(list), self.draft.indexes(list));
        let existing = ItemLookup::new(found, indexes, schema, items.iter().copied());
        let mut overriding = Vec::new();
        sorted.length = existing.len();
        for item in items {
            match existing.find(item, name, schema) {
                None => sorted.new.push(item),
                Some((_, found)) if holds(found, item, name, schema.item()) => sorted.present.push(item),
                Some((index, found)) => match item.on_conflict {
                    OnConflict::Keep | OnConflict::KeepOwn => {}
                    OnConflict::Override => overriding.push((index, item)),
                    on_conflict => {
                        return Err(conflict(
                            item,
                            on_conflict,
                            difference(name, found, item, schema.item()),
                        ));
                    }
                },
            }
        }
        for (index, item) in overriding {
            let place = list.item(index);
            self.context.ports.take();
            self.change(&item.clause, |draft, origin| {
                overlay_onto(draft, &place, &item.overlay, schema.item(), &origin)?;
                remove_further(draft, &place, name, &item.overlay, &origin)
            })?;
        }
        Ok(sorted)
    }

    /// Inserts items one after the other into a list of `length` items. A list that is absent is added as a whole, with the items
    /// of one field of the rule: sidecars and init containers keep separate origins.
    pub(super) fn insert(
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
        inserted.map_err(|(item, sentence)| invalid(&item.clause, sentence))
    }

    /// Builds the index of `list` by its merge keys, if lookups are frequent.
    pub(super) fn index_by_keys(&mut self, list: &Pointer, schema: Schema<'_>) {
        if self.uses_indexes
            && let List::Map(keys) = schema.list()
        {
            self.draft.index(list, &IndexKey::Keys(keys));
        }
    }

    /// Builds indexes of `list` for lookups of such `items`, if lookups are frequent.
    pub(super) fn index<'i>(
        &mut self,
        list: &Pointer,
        name: &str,
        schema: Schema<'_>,
        items: impl IntoIterator<Item = &'i Overlay, IntoIter: ExactSizeIterator>,
    ) {
        let items = items.into_iter();
        if !self.uses_indexes && items.len() < list_index::FEW {
            return;
        }
        match schema.list() {
            // Many items of one rule are found by their keys in one pass over the list, without an index.
            List::Map(_) => self.index_by_keys(list, schema),
            _ => {
                for key in items.filter_map(|item| IndexKey::of(schema, name, item)) {
                    self.draft.index(list, &key);
                }
            }
        }
    }

    /// The containers of `list`, with the names from its index if there is one.
    pub(super) fn containers(&self, list: &Pointer) -> Vec<NamedContainer<'_>> {
        let found = self.draft.at(list);
        let (Some(all), Some(positions)) = (found, self.draft.by_keys(list)) else {
            return NamedContainer::all(found);
        };
        let named = |(name, view)| NamedContainer { name: Cow::Borrowed(name), view };
        positions.keys().zip(all.iter()).map(named).collect()
    }

    /// The container `name` of `list`; if several have the name, the last one.
    pub(super) fn container(&self, list: &Pointer, name: &str) -> Option<View<'_>> {
        match self.draft.by_keys(list) {
            Some(positions) => self.draft.at(list)?.item(positions.find(name)?),
            None => {
                self.existing(list).filter(|one| string_member(*one, "name").as_deref() == Some(name)).last()
            }
        }
    }

    /// The items of `list`.
    pub(super) fn existing<'e>(&'e self, list: &Pointer) -> impl Iterator<Item = View<'e>> + use<'e> {
        self.draft.at(list).into_iter().flat_map(View::iter)
    }

    pub(super) fn remove(&mut self, clause: &Clause, path: Pointer) -> Result<(), Failure> {
        self.change(clause, |draft, origin| draft.apply(Operation::Remove { path }, origin))
    }

    /// Changes the draft, with `clause` as the origin of the operations.
    pub(super) fn change(
        &mut self,
        clause: &Clause,
        change: impl FnOnce(&mut Draft<'_>, Origin) -> Result<(), String>,
    ) -> Result<(), Failure> {
        change(self.draft, origin(self.rule, clause)).map_err(|sentence| invalid(clause, sentence))
    }
}

/// The conflict between `item` and the item `found` of the object.
fn difference(list: &str, found: View<'_>, item: &Item, schema: Schema<'_>) -> String {
    let key = &item.key;
    let member = || {
        let name = first_difference(found, &item.overlay, list, schema);
        name.map(|name| format!(" in `{}`", printable_short(name))).unwrap_or_default()
    };
    match list {
        "volumes" => {
            let here = found.entries().into_iter().map(|(name, _)| printable_short(&name));
            let wanted = item.overlay.members().iter().map(|member| member.name.clone());
            let here = here.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            let wanted = wanted.filter(|name| name != "name").collect::<Vec<_>>().join(", ");
            format!("volume `{key}` exists already and differs (`{here}` in the pod, `{wanted}` in the rule)")
        }
        "containers" | "initContainers" => {
            format!("container `{key}` exists already and differs{}", member())
        }
        "env" => format!("variable `{key}` has another value already"),
        "volumeMounts" => format!("something else is mounted at `{key}` already"),
        "tolerations" => {
            let key = key::in_messages(list, item);
            format!("toleration `{key}` exists already with other `tolerationSeconds`")
        }
        _ => format!("`{key}` in `{list}` exists already and differs{}", member()),
    }
}
