//! What would make the result no valid pod, as far as the rule touched it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use vestibule_patch::View;

use super::ports::{NUMBERS, Noted, Owners, PortIndex};
use super::{CONTAINER_LISTS, Failure, Merge, list_index, invalid, present};
use crate::diagnostic::shown;
use crate::overlay::Overlay;
use crate::rule::{Clause, Part, Policy};
use crate::subject::{text, written};

/// The lists of a container whose items name volumes.
const MOUNTS: &[&str] = &["volumeDevices", "volumeMounts"];

impl<'r> Merge<'_, 'r, '_, '_> {
    /// Every mount that the rule brings has a volume.
    pub(super) fn verify(&mut self) -> Result<(), Failure> {
        let mounts = self.mounts();
        if mounts.is_empty() {
            return Ok(());
        }
        let list = self.context.layout.list("volumes");
        self.index(&list, "volumes", self.context.shape.volumes, []);
        let known = self.draft.by_keys(&list);
        let listed = known.is_none().then(|| self.existing(&list)).into_iter().flatten();
        let mut volumes: HashSet<Cow<'_, str>> =
            listed.filter_map(|volume| written(Some(volume), "name")).collect();
        volumes.extend(self.claimed_volumes());
        for (clause, mount) in mounts {
            let volume = mount.text("name").unwrap_or_default();
            let is_known = || known.is_some_and(|known| known.find(volume).is_some());
            if !volumes.contains(volume) && !is_known() {
                let sentence = format!("a mount names volume `{volume}`, which the pod does not have");
                return Err(invalid(clause, sentence));
            }
        }
        Ok(())
    }

    /// Whether it is known that a volume of the rule itself is there for `mount`.
    fn has_volume_of_mine(&self, mount: &Overlay) -> bool {
        // Nobody looks for each among many.
        if self.rule.volumes.len() > list_index::FEW {
            return false;
        }
        let name = mount.text("name");
        let mut mine = self.rule.volumes.iter().filter(|volume| Some(volume.key.as_str()) == name);
        mine.any(|volume| self.draft.known().has(volume, None))
    }

    /// The volumes that a StatefulSet gives each of its pods.
    fn claimed_volumes(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let specification = present(self.draft.root(), "spec");
        let overrides = specification.and_then(|spec| present(spec, "volumeClaimTemplates"));
        let overrides = overrides.map(View::items).unwrap_or_default().into_iter();
        overrides.filter_map(|claim| written(present(claim, "metadata"), "name"))
    }

    /// The mounts that the rule brings, for which it has no volume.
    fn mounts(&self) -> Vec<(&'r Clause, &'r Overlay)> {
        let in_containers = self.rule.injected.iter().flat_map(|one| {
            let mounts = MOUNTS
                .iter()
                .flat_map(|name| one.item.overlay.get(name).map(Overlay::items).unwrap_or_default());
            mounts.map(|mount| (&one.item.clause, mount))
        });
        let in_blocks = self.rule.blocks.iter().flat_map(|block| {
            let lists = block.lists.iter().filter(|list| MOUNTS.contains(&list.member));
            // A block that is for none of the containers mounts nothing.
            lists.filter(|_| !self.selected(&block.select).is_empty()).flat_map(|list| &list.items)
        });
        let mounts = in_containers.chain(in_blocks.map(|item| (&item.clause, &item.overlay)));
        mounts.filter(|(_, mount)| !self.has_volume_of_mine(mount)).collect()
    }

    /// A template whose labels no longer fit its workload's selector is refused by the API server.
    pub(super) fn selected_upon(&self) -> Result<(), Failure> {
        if self.context.layout.selector.is_none() {
            return Ok(());
        }
        let written = self.draft.at(&self.context.layout.metadata.child("labels"));
        for Part { item, .. } in self.rule.metadata.iter().filter(|part| part.path == ["labels"]) {
            let stays = match written.and_then(|labels| present(labels, &item.key)) {
                Some(found) => {
                    item.policy != Policy::Override || item.overlay.as_text() == found.as_str().as_deref()
                }
                None => false,
            };
            if !stays && self.selects(&item.key) {
                let sentence = format!("the workload selects its pods by label `{}`", item.key);
                return Err(invalid(&item.clause, sentence));
            }
        }
        Ok(())
    }

    /// Whether the workload finds its pods by the label `key`.
    pub(super) fn selects(&self, key: &str) -> bool {
        let selector = self.context.layout.selector.as_ref().and_then(|selector| self.draft.at(selector));
        let Some(selector) = selector else { return false };
        let expressions = present(selector, "matchExpressions").map(View::items).unwrap_or_default();
        present(selector, "matchLabels").is_some_and(|labels| present(labels, key).is_some())
            || expressions.into_iter().any(|one| text(Some(one), "key").as_deref() == Some(key))
    }

    /// Containers of a pod share one network: what two of them listen to, or a name that two ports have.
    pub(super) fn port_clash(&mut self, mine: &[Overlay], owner: &str) -> Option<String> {
        if mine.is_empty() {
            return None;
        }
        let layout = self.context.layout;
        let mut known = self.context.ports.borrow_mut();
        if self.looks_often && known.is_none() {
            let lists = CONTAINER_LISTS.map(|list| layout.list(list));
            *known = Some(PortIndex::of(lists.iter().flat_map(|list| self.existing(list))));
        }
        let owners = known.as_ref().map(|known| known.owners(mine));
        if owners.as_ref().is_some_and(Owners::is_empty) {
            return None;
        }
        let clash = |list| self.clash_in_list(list, mine, owners.as_ref());
        let (name, what) = CONTAINER_LISTS.into_iter().find_map(clash)?;
        Some(format!("{what} of container `{}` is taken by container `{name}`", shown(owner)))
    }

    /// The name of the first container of `list` that has one of `mine`, and what; `owners` are those that may, if that is known.
    fn clash_in_list(
        &mut self,
        list: &'static str,
        mine: &[Overlay],
        owners: Option<&Owners<'_>>,
    ) -> Option<(String, String)> {
        let pointer = self.context.layout.list(list);
        let named = |container, what| (shown(&text(Some(container), "name").unwrap_or_default()), what);
        self.index(&pointer, list, self.context.shape.containers, []);
        let places = self.draft.by_keys(&pointer).filter(|places| places.are_different());
        let (Some(owners), Some(places)) = (owners, places) else {
            let clash = |one| Some(named(one, clash_in(one, list, mine)?));
            return self.existing(&pointer).find_map(clash);
        };
        let owners = owners.iter().filter_map(|(name, taken)| Some((places.find(name)?, taken)));
        let owners: BTreeMap<usize, _> = owners.collect();
        owners.keys().for_each(|index| self.draft.open_at(&pointer.item(*index).child("ports")));
        let all = self.draft.at(&pointer)?;
        owners.into_iter().find_map(|(index, taken)| {
            let container = all.item(index)?;
            Some(named(container, clash_by_places(container, list, mine, taken)?))
        })
    }
}

/// What of `mine` a container of `list` has.
fn clash_in(container: View<'_>, list: &str, mine: &[Overlay]) -> Option<String> {
    let theirs = listened_to(container, list).map(View::items).unwrap_or_default();
    mine.iter().find_map(|port| theirs.iter().find_map(|other| clash(port, *other)))
}

/// The same, where it has or had those of `mine` in the places that are known.
fn clash_by_places(
    container: View<'_>,
    list: &str,
    mine: &[Overlay],
    places: &BTreeMap<usize, Noted>,
) -> Option<String> {
    let theirs = listened_to(container, list)?;
    // None of those before it has any place there.
    let (index, places) = places.first_key_value()?;
    let port = mine.get(*index)?;
    places.first(theirs, |other| clash(port, other)).or_else(|| clash_in(container, list, mine))
}

/// The ports of a container of `list` that others cannot have.
fn listened_to<'d>(container: View<'d>, list: &str) -> Option<View<'d>> {
    // An init container that ends has left its ports before the others start.
    let ends =
        list == "initContainers" && text(Some(container), "restartPolicy").as_deref() != Some("Always");
    if ends { None } else { present(container, "ports") }
}

fn clash(mine: &Overlay, theirs: View<'_>) -> Option<String> {
    let number = |name: &str| match mine.get(name) {
        Some(Overlay::Literal(number)) => Some(number.clone()),
        _ => None,
    };
    let same = |name: &str| {
        number(name)
            .is_some_and(|number| present(theirs, name).is_some_and(|other| other.to_json() == number))
    };
    let protocol = mine.text("protocol").unwrap_or("TCP");
    let other = text(Some(theirs), "protocol");
    if other.as_deref().unwrap_or("TCP") == protocol {
        for field in NUMBERS {
            if same(field) {
                return Some(format!("port {}/{protocol}", number(field).unwrap_or_default()));
            }
        }
    }
    let name = mine.text("name").filter(|name| !name.is_empty())?;
    (text(Some(theirs), "name").as_deref() == Some(name)).then(|| format!("port name `{name}`"))
}
