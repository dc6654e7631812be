//! `remove`: the only way in which rules take something away.

use std::collections::HashSet;

use vestibule_patch::{List, Pointer, Schema, View};

use super::list_index::IndexKey;
use super::{Failure, Merge, contains, invalid, present};
use crate::key;
use crate::rule::Removal;
use crate::subject::text;

/// Of so many volumes each is looked for in the text of all mounts.
const FEW: usize = 8;

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn removals(&mut self) -> Result<(), Failure> {
        for removal in &self.rule.removals {
            let spec = &self.context.layout.spec;
            let shape = self.context.shape;
            match (removal.list, &removal.select) {
                ("labels" | "annotations", _) => {
                    let map = self.context.layout.metadata.child(removal.list);
                    if removal.list == "labels" && self.selects(&removal.key) {
                        let sentence = format!("the workload selects its pods by label `{}`", removal.key);
                        return Err(invalid(&removal.clause, sentence));
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
        self.change(&removal.clause, |draft, origin| draft.remove(&place, origin))
    }

    /// Every item that is meant goes; a list that would be left empty goes with them.
    fn remove_items(
        &mut self,
        list: &Pointer,
        removal: &'r Removal,
        schema: Schema<'_>,
    ) -> Result<(), Failure> {
        self.index(list, removal.list, schema, [&removal.wanted]);
        let by = IndexKey::of(schema, removal.list, &removal.wanted);
        let places = by.and_then(|by| self.draft.indexes(list)?.by(&by));
        let (found, length) = match places.filter(|places| places.are_different()) {
            Some(places) => {
                let found = places.find_item(&removal.key, &removal.wanted);
                (found.into_iter().collect(), places.keys().len())
            }
            None => self.meant(list, removal, schema),
        };
        if !found.is_empty() && found.len() == length {
            return self.change(&removal.clause, |draft, origin| draft.remove(list, origin));
        }
        for index in found.into_iter().rev() {
            self.change(&removal.clause, |draft, origin| draft.remove_item(list, index, origin))?;
        }
        Ok(())
    }

    /// The places of the items that are meant, and how many there are in all.
    fn meant(&self, list: &Pointer, removal: &Removal, schema: Schema<'_>) -> (Vec<usize>, usize) {
        let existing: Vec<View<'_>> = self.existing(list).collect();
        let meant = |item: &View<'_>| match schema.list() {
            List::Map(keys) => key::of_view(*item, keys) == removal.key,
            _ => contains(*item, &removal.wanted, removal.list, schema.item()),
        };
        let found = existing.iter().enumerate().filter(|(_, item)| meant(item)).map(|(index, _)| index);
        (found.collect(), existing.len())
    }

    /// No container mounts a volume that the rule takes away.
    pub(super) fn verify_removed(&self) -> Result<(), Failure> {
        let removals: Vec<&Removal> = self.rule.removals.iter().filter(|one| one.list == "volumes").collect();
        if removals.is_empty() {
            return Ok(());
        }
        let mut used = HashSet::new();
        for list in super::CONTAINER_LISTS {
            for container in self.existing(&self.context.layout.list(list)) {
                for member in ["volumeMounts", "volumeDevices"] {
                    let mounts = present(container, member)
                        .filter(|mounts| removals.len() > FEW || may_name(*mounts, &removals));
                    let mounts = mounts.map(View::items).unwrap_or_default();
                    used.extend(mounts.into_iter().filter_map(|mount| text(Some(mount), "name")));
                }
            }
        }
        match removals.into_iter().find(|removal| used.contains(&removal.key)) {
            Some(Removal { clause, key, .. }) => {
                Err(invalid(clause, format!("volume `{key}` is mounted, and would be gone")))
            }
            None => Ok(()),
        }
    }
}

/// Whether some of `mounts` may be of a volume that goes. Most are of none, and nobody has to take these apart.
fn may_name(mounts: View<'_>, volumes: &[&Removal]) -> bool {
    // Escaped, a name looks otherwise.
    let names = |text: &str| volumes.iter().any(|volume| text.contains(&volume.key)) || text.contains('\\');
    mounts.as_written().is_none_or(names)
}
