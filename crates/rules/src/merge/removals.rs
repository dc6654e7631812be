//! Applies `remove`: the parts of the object that a rule names for removal.

use std::borrow::Cow;
use std::collections::HashSet;

use vestibule_patch::{List, Pointer, Schema, View};

use super::contains::{contains, present};
use super::list_index::IndexKey;
use super::{Failure, Merge, invalid};
use crate::key;
use crate::rule::Removal;
use crate::subject::string_member;

/// Up to this number of volumes, the text of mounts and variables is searched for their names before it is parsed.
const FEW: usize = 8;

/// Returns the name of the volume that an item uses.
type VolumeName = for<'d> fn(View<'d>) -> Option<Cow<'d, str>>;

/// The lists of a container whose items use volumes.
const USES: [(&str, VolumeName); 3] = [
    ("env", |variable| file_volume(variable)),
    ("volumeDevices", |device| string_member(device, "name")),
    ("volumeMounts", |mount| string_member(mount, "name")),
];

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn removals(&mut self) -> Result<(), Failure> {
        for removal in &self.rule.removals {
            let spec = &self.draft.layout.spec;
            let shape = self.draft.shape;
            match (removal.list, &removal.select) {
                ("labels" | "annotations", _) => {
                    let map = self.draft.layout.metadata.child(removal.list);
                    if removal.list == "labels" {
                        self.verify_not_selected_by(&removal.key, &removal.clause)?;
                    }
                    self.remove_entry(&map, removal)?;
                }
                ("nodeSelector", _) => self.remove_entry(&spec.child(removal.list), removal)?,
                (list, None) => self.remove_items(&spec.child(list), removal, shape.spec.field(list))?,
                (list, Some(select)) => {
                    let schema = shape.container.field(list);
                    for (container, _) in self.selected_by_index(select) {
                        self.remove_items(&container.child(list), removal, schema)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn remove_entry(&mut self, map: &Pointer, removal: &'r Removal) -> Result<(), Failure> {
        let place = map.child(&removal.key);
        if self.draft.at(&place).is_none() {
            return Ok(());
        }
        self.remove(&removal.clause, place)
    }

    /// Removes every matching item of `list`, or the whole list if all items match.
    fn remove_items(
        &mut self,
        list: &Pointer,
        removal: &'r Removal,
        schema: Schema<'_>,
    ) -> Result<(), Failure> {
        let key = IndexKey::of_containing(schema, removal.list, &removal.wanted);
        if let Some(key) = key.as_ref().filter(|_| self.uses_indexes) {
            self.draft.index(list, key);
        }
        let positions = key.and_then(|key| self.draft.indexes(list).iter().find(|one| one.by == key));
        let (found, length) = match positions.filter(|positions| positions.are_different()) {
            Some(positions) => {
                let found = positions.find_item(&removal.key, &removal.wanted);
                (found.into_iter().collect(), positions.keys().len())
            }
            None => self.matching_items(list, removal, schema),
        };
        if removal.list == "ports" && !found.is_empty() {
            self.context.ports.take();
        }
        if !found.is_empty() && found.len() == length {
            return self.remove(&removal.clause, list.clone());
        }
        for index in found.into_iter().rev() {
            self.remove(&removal.clause, list.item(index))?;
        }
        Ok(())
    }

    /// The indices of the matching items, and the number of all items.
    fn matching_items(&self, list: &Pointer, removal: &Removal, schema: Schema<'_>) -> (Vec<usize>, usize) {
        let existing: Vec<View<'_>> = self.existing(list).collect();
        let matches = |item: &View<'_>| match schema.list() {
            List::Map(keys) => key::of_view(*item, keys) == removal.key,
            _ => contains(*item, &removal.wanted, removal.list, schema.item()),
        };
        let found = existing.iter().enumerate().filter(|(_, item)| matches(item)).map(|(index, _)| index);
        (found.collect(), existing.len())
    }

    /// No container may use a volume that the rule removes.
    pub(super) fn verify_removed(&self) -> Result<(), Failure> {
        let removals: Vec<&Removal> = self.rule.removals.iter().filter(|one| one.list == "volumes").collect();
        if removals.is_empty() {
            return Ok(());
        }
        let mut used = HashSet::new();
        for list in super::ALL_CONTAINER_LISTS {
            for container in self.existing(&self.draft.layout.list(list)) {
                for (member, name) in USES {
                    let uses = present(container, member)
                        .filter(|uses| removals.len() > FEW || may_name(*uses, &removals));
                    let uses = uses.map(View::items).unwrap_or_default();
                    used.extend(uses.into_iter().filter_map(name));
                }
            }
        }
        match removals.into_iter().find(|removal| used.contains(removal.key.as_str())) {
            Some(Removal { clause, key, .. }) => {
                Err(invalid(clause, format!("volume `{key}` cannot be removed: a container uses it")))
            }
            None => Ok(()),
        }
    }
}

/// The volume of the file from which `variable` takes its value.
pub(super) fn file_volume<'d>(variable: View<'d>) -> Option<Cow<'d, str>> {
    string_member(present(present(variable, "valueFrom")?, "fileKeyRef")?, "volumeName")
}

/// Whether the text of `uses` may contain the name of a removed volume. Most texts do not, and need not be parsed.
fn may_name(uses: View<'_>, volumes: &[&Removal]) -> bool {
    // A name in the text may be escaped.
    let names = |text: &str| volumes.iter().any(|volume| text.contains(&volume.key)) || text.contains('\\');
    uses.as_written().is_none_or(names)
}
