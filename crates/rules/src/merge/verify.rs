//! What would make the result no valid pod, as far as the rule touched it.

use std::borrow::Cow;
use std::cell::RefMut;
use std::collections::{BTreeSet, HashSet};

use vestibule_patch::View;

use super::ports::{NUMBERS, Ports};
use super::{CONTAINER_LISTS, Failure, Merge, index, invalid, present};
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
        let list = self.scene.layout.list("volumes");
        self.index(&list, "volumes", self.scene.shape.volumes, []);
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
        let name = mount.text("name");
        let mut mine = self.rule.volumes.iter().filter(|volume| Some(volume.key.as_str()) == name);
        mine.any(|volume| self.draft.holds().has(volume, None))
    }

    /// The volumes that a StatefulSet gives each of its pods.
    fn claimed_volumes(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let specification = present(self.draft.whole(), "spec");
        let claims = specification.and_then(|spec| present(spec, "volumeClaimTemplates"));
        let claims = claims.map(View::items).unwrap_or_default().into_iter();
        claims.filter_map(|claim| written(present(claim, "metadata"), "name"))
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
        if self.scene.layout.selector.is_none() {
            return Ok(());
        }
        let written = self.draft.at(&self.scene.layout.metadata.child("labels"));
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
        let selector = self.scene.layout.selector.as_ref().and_then(|selector| self.draft.at(selector));
        let Some(selector) = selector else { return false };
        let expressions = present(selector, "matchExpressions").map(View::items).unwrap_or_default();
        present(selector, "matchLabels").is_some_and(|labels| present(labels, key).is_some())
            || expressions.into_iter().any(|one| text(Some(one), "key").as_deref() == Some(key))
    }

    /// Containers of a pod share one network: what two of them listen to, or a name that two ports have.
    pub(super) fn port_clash(&self, mine: &[Overlay], owner: &str) -> Option<String> {
        if mine.is_empty() {
            return None;
        }
        let known = self.known_ports();
        let owners = known.as_ref().map(|known| known.owners(mine));
        if owners.as_ref().is_some_and(BTreeSet::is_empty) {
            return None;
        }
        let (listener, what) = CONTAINER_LISTS.into_iter().find_map(|list| {
            let pointer = self.scene.layout.list(list);
            let clash_in = |container| Some((container, clash_in(container, list, mine)?));
            let places = self.draft.by_keys(&pointer).filter(|places| places.are_different());
            match (&owners, places, self.draft.at(&pointer)) {
                (Some(owners), Some(places), Some(found)) => {
                    let places: BTreeSet<usize> = owners.iter().filter_map(|one| places.find(one)).collect();
                    places.into_iter().filter_map(|place| found.item(place)).find_map(clash_in)
                }
                _ => self.existing(&pointer).find_map(clash_in),
            }
        })?;
        let name = shown(&text(Some(listener), "name").unwrap_or_default());
        let owner = shown(owner);
        Some(format!("{what} of container `{owner}` is taken by container `{name}`"))
    }

    /// Who may listen to what, where many rules ask.
    fn known_ports(&self) -> Option<RefMut<'_, Ports>> {
        let lists = CONTAINER_LISTS.iter().map(|list| self.scene.layout.list(list));
        let all = || Ports::of(lists.flat_map(|list| self.existing(&list)));
        let known = (self.rank >= index::FEW).then(|| self.scene.ports.borrow_mut())?;
        Some(RefMut::map(known, |known| known.get_or_insert_with(all)))
    }
}

/// What of `mine` a container of `list` has.
fn clash_in(container: View<'_>, list: &str, mine: &[Overlay]) -> Option<String> {
    // An init container that ends has left its ports before the others start.
    if list == "initContainers" && text(Some(container), "restartPolicy").as_deref() != Some("Always") {
        return None;
    }
    let theirs = present(container, "ports").map(View::items).unwrap_or_default();
    mine.iter().find_map(|port| theirs.iter().find_map(|other| clash(port, *other)))
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
