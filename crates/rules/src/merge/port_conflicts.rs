//! Ports of a rule that another container of the pod has already. The containers of a pod share one network.

use std::collections::BTreeMap;

use vestibule_patch::View;

use super::contains::present;
use super::ports::{NUMBERS, Noted, Owners, PortIndex};
use super::{CONTAINER_LISTS, Merge};
use crate::diagnostic::shown;
use crate::overlay::Overlay;
use crate::subject::text;

impl Merge<'_, '_, '_, '_> {
    /// The conflict between `wanted`, ports for the container `owner`, and a port of another container: the same number and
    /// protocol, or the same name.
    pub(super) fn port_conflict(&mut self, wanted: &[Overlay], owner: &str) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        let layout = self.context.layout;
        let mut index = self.context.ports.borrow_mut();
        if self.uses_indexes && index.is_none() {
            let lists = CONTAINER_LISTS.map(|list| layout.list(list));
            *index = Some(PortIndex::of(lists.iter().flat_map(|list| self.existing(list))));
        }
        let owners = index.as_ref().map(|index| index.owners(wanted));
        if owners.as_ref().is_some_and(Owners::is_empty) {
            return None;
        }
        let conflict = |list| self.conflict_in_list(list, wanted, owners.as_ref());
        let (name, port) = CONTAINER_LISTS.into_iter().find_map(conflict)?;
        Some(format!("{port} of container `{}` is taken by container `{name}`", shown(owner)))
    }

    /// The name of the first container of `list` that has one of the `wanted` ports, and the port. `owners` are the containers that
    /// may have one, if an index is kept.
    fn conflict_in_list(
        &mut self,
        list: &'static str,
        wanted: &[Overlay],
        owners: Option<&Owners<'_>>,
    ) -> Option<(String, String)> {
        let pointer = self.context.layout.list(list);
        let named = |container, port| (shown(&text(Some(container), "name").unwrap_or_default()), port);
        self.index(&pointer, list, self.context.shape.containers, []);
        let positions = self.draft.by_keys(&pointer).filter(|positions| positions.are_different());
        let (Some(owners), Some(positions)) = (owners, positions) else {
            let conflict = |one| Some(named(one, conflict_in_container(one, list, wanted)?));
            return self.existing(&pointer).find_map(conflict);
        };
        let owners = owners.iter().filter_map(|(name, noted)| Some((positions.find(name)?, noted)));
        let owners: BTreeMap<usize, _> = owners.collect();
        owners.keys().for_each(|index| self.draft.open_at(&pointer.item(*index).child("ports")));
        let all = self.draft.at(&pointer)?;
        owners.into_iter().find_map(|(index, noted)| {
            let container = all.item(index)?;
            Some(named(container, conflict_by_index(container, list, wanted, noted)?))
        })
    }
}

/// The first of the `wanted` ports that a container of `list` has.
fn conflict_in_container(container: View<'_>, list: &str, wanted: &[Overlay]) -> Option<String> {
    let existing = occupied_ports(container, list).map(View::items).unwrap_or_default();
    wanted.iter().find_map(|port| existing.iter().find_map(|other| conflict(port, *other)))
}

/// The same, by the places where the index has noted the `wanted` ports.
fn conflict_by_index(
    container: View<'_>,
    list: &str,
    wanted: &[Overlay],
    noted: &BTreeMap<usize, Noted>,
) -> Option<String> {
    let existing = occupied_ports(container, list)?;
    // The container has none of the ports before the first that is noted.
    let (index, noted) = noted.first_key_value()?;
    let port = wanted.get(*index)?;
    let found = noted.first(existing, |other| conflict(port, other));
    found.or_else(|| conflict_in_container(container, list, wanted))
}

/// The ports that a container of `list` occupies.
fn occupied_ports<'d>(container: View<'d>, list: &str) -> Option<View<'d>> {
    // An init container that ends has released its ports before other containers start.
    let ends =
        list == "initContainers" && text(Some(container), "restartPolicy").as_deref() != Some("Always");
    if ends { None } else { present(container, "ports") }
}

fn conflict(wanted: &Overlay, existing: View<'_>) -> Option<String> {
    let number = |name: &str| match wanted.get(name) {
        Some(Overlay::Literal(number)) => Some(number.clone()),
        _ => None,
    };
    let same = |name: &str| {
        number(name)
            .is_some_and(|number| present(existing, name).is_some_and(|other| other.to_json() == number))
    };
    let protocol = wanted.text("protocol").unwrap_or("TCP");
    let other = text(Some(existing), "protocol");
    if other.as_deref().unwrap_or("TCP") == protocol {
        for field in NUMBERS {
            if same(field) {
                return Some(format!("port {}/{protocol}", number(field).unwrap_or_default()));
            }
        }
    }
    let name = wanted.text("name").filter(|name| !name.is_empty())?;
    (text(Some(existing), "name").as_deref() == Some(name)).then(|| format!("port name `{name}`"))
}
