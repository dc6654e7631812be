//! Ports of a rule that another container of the pod has already. The containers of a pod share one network.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::View;

use super::contains::present;
use super::{ALL_CONTAINER_LISTS, Merge};
use crate::diagnostic::printable_short;
use crate::overlay::Overlay;
use crate::subject::{is_native_sidecar, string_member};

/// The numbers of a port. Like its name, two containers must not have the same one.
const NUMBERS: [&str; 2] = ["containerPort", "hostPort"];

/// An index of the ports of all containers, for many rules that add ports, or one rule that adds many: the containers that have a
/// number with a protocol, or a name, and the index of the port in its container. It may have ports that no container occupies: those
/// of init containers that end, and those of rules that failed. It is discarded when ports are changed or removed.
#[derive(Default)]
pub(super) struct PortIndex(HashMap<String, Vec<(Arc<str>, usize)>>);

impl PortIndex {
    fn of<'d>(containers: impl Iterator<Item = View<'d>>) -> Self {
        let mut all = Self::default();
        for container in containers {
            let ports = present(container, "ports").map(View::items).unwrap_or_default();
            let name = string_member(container, "name").unwrap_or_default();
            all.note(ports.into_iter().map(identities_of_view), &name, 0);
        }
        all
    }

    /// Adds the `ports` that a rule adds to the container `owner`, after the first `index` ports of that.
    pub(super) fn add(&mut self, ports: &[Overlay], owner: &str, index: usize) {
        self.note(ports.iter().map(identities_of_overlay), owner, index);
    }

    fn note(&mut self, ports: impl Iterator<Item = Vec<String>>, owner: &str, index: usize) {
        let owner: Arc<str> = Arc::from(owner);
        for (place, identities) in (index..).zip(ports) {
            for identity in identities {
                self.0.entry(identity).or_default().push((Arc::clone(&owner), place));
            }
        }
    }

    /// The ports that may conflict with `wanted`: the container, the index in `wanted`, and the index in the container.
    fn candidates(&self, wanted: &[Overlay]) -> Vec<(&str, usize, usize)> {
        let identities = wanted.iter().map(identities_of_overlay).enumerate();
        let noted = identities.flat_map(|(index, identities)| {
            let noted = identities.into_iter().filter_map(|identity| self.0.get(&identity)).flatten();
            noted.map(move |(container, place)| (&**container, index, *place))
        });
        noted.collect()
    }
}

impl Merge<'_, '_, '_, '_> {
    /// The conflict between `wanted`, ports for the container `owner`, and a port of another container in `lists`: the same number
    /// and protocol, or the same name.
    pub(super) fn port_conflict(
        &mut self,
        wanted: &[Overlay],
        owner: &str,
        lists: &[&'static str],
    ) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        let layout = self.draft.layout;
        let mut index = self.context.ports.borrow_mut();
        if self.uses_indexes && index.is_none() {
            let lists = ALL_CONTAINER_LISTS.map(|list| layout.list(list));
            *index = Some(PortIndex::of(lists.iter().flat_map(|list| self.existing(list))));
        }
        let candidates = index.as_ref().map(|index| index.candidates(wanted));
        if candidates.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let conflict = |list| self.conflict_in_list(list, wanted, candidates.as_deref());
        let (name, port) = lists.iter().copied().find_map(conflict)?;
        Some(format!("{port} of container `{}` is taken by container `{name}`", printable_short(owner)))
    }

    /// The name of the first container of `list` that has one of the `wanted` ports, and the port. `candidates` are from the index,
    /// if it is kept.
    fn conflict_in_list(
        &mut self,
        list: &'static str,
        wanted: &[Overlay],
        candidates: Option<&[(&str, usize, usize)]>,
    ) -> Option<(String, String)> {
        let pointer = self.draft.layout.list(list);
        let named =
            |container, port| (printable_short(&string_member(container, "name").unwrap_or_default()), port);
        self.index_by_keys(&pointer, self.draft.shape.containers);
        let positions = self.draft.by_keys(&pointer).filter(|positions| positions.are_different());
        let (Some(candidates), Some(positions)) = (candidates, positions) else {
            return self.existing(&pointer).find_map(|container| {
                let existing = occupied_ports(container, list).map(View::items).unwrap_or_default();
                let first = |port| existing.iter().find_map(|other| conflict(port, *other));
                Some(named(container, wanted.iter().find_map(first)?))
            });
        };
        let in_list = candidates.iter();
        let in_list =
            in_list.filter_map(|(name, index, place)| Some((positions.find(name)?, *index, *place)));
        let mut in_list: Vec<(usize, usize, usize)> = in_list.collect();
        in_list.sort_unstable();
        for (container, ..) in &in_list {
            self.draft.open_at(&pointer.item(*container).child("ports"));
        }
        let all = self.draft.at(&pointer)?;
        in_list.into_iter().find_map(|(container, index, place)| {
            let container = all.item(container)?;
            let existing = occupied_ports(container, list)?.item(place)?;
            Some(named(container, conflict(wanted.get(index)?, existing)?))
        })
    }
}

/// The ports that a container of `list` occupies.
fn occupied_ports<'d>(container: View<'d>, list: &str) -> Option<View<'d>> {
    // An init container that ends has released its ports before other containers start.
    let ends = list == "initContainers" && !is_native_sidecar(container);
    if ends { None } else { present(container, "ports") }
}

fn conflict(wanted: &Overlay, existing: View<'_>) -> Option<String> {
    let same = |name: &str| {
        let number = literal(wanted, name)?;
        let other = present(existing, name).filter(|other| other.to_json() == *number);
        // Zero is no port of the node.
        other
            .filter(|_| number != "0" && (name != "hostPort" || share_address(wanted, existing)))
            .and(Some(number))
    };
    let protocol = wanted.text("protocol").unwrap_or("TCP");
    if string_member(existing, "protocol").as_deref().unwrap_or("TCP") == protocol
        && let Some(number) = NUMBERS.into_iter().find_map(same)
    {
        return Some(format!("port {number}/{protocol}"));
    }
    let name = wanted.text("name").filter(|name| !name.is_empty())?;
    (string_member(existing, "name").as_deref() == Some(name)).then(|| format!("port name `{name}`"))
}

/// Whether two ports of the node have an address in common. Without `hostIP` a port is open at all addresses.
fn share_address(wanted: &Overlay, existing: View<'_>) -> bool {
    let is_any = |address: &str| ["", "0.0.0.0", "::"].contains(&address);
    let (one, other) = (wanted.text("hostIP").unwrap_or_default(), string_member(existing, "hostIP"));
    let other = other.unwrap_or_default();
    is_any(one) || is_any(&other) || one == other
}

/// The member `name` of `port`, if it is a number.
fn literal<'p>(port: &'p Overlay, name: &str) -> Option<&'p str> {
    match port.get(name) {
        Some(Overlay::Literal(number)) => Some(number),
        _ => None,
    }
}

fn identities_of_overlay(port: &Overlay) -> Vec<String> {
    identities(|name| literal(port, name).map(str::to_owned), port.text("protocol"), port.text("name"))
}

fn identities_of_view(port: View<'_>) -> Vec<String> {
    let (protocol, name) = (string_member(port, "protocol"), string_member(port, "name"));
    let number = |name: &str| present(port, name).map(|number| number.to_json().into_owned());
    identities(number, protocol.as_deref(), name.as_deref())
}

/// One text for each number, and one for the name.
fn identities(
    number: impl Fn(&str) -> Option<String>,
    protocol: Option<&str>,
    name: Option<&str>,
) -> Vec<String> {
    let protocol = protocol.unwrap_or("TCP");
    let numbers = NUMBERS.iter().filter_map(|field| Some(format!("{field} {} {protocol}", number(field)?)));
    numbers.chain(name.map(|name| format!("name {name}"))).collect()
}
