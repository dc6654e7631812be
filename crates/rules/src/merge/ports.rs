//! An index of the ports of all containers, for many rules that add ports, or one rule that adds many. With it, a port that is free
//! needs no look at any container.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::View;

use super::contains::present;
use crate::overlay::Overlay;
use crate::subject::text;

/// The numbers of a port. Like its name, two containers must not have the same one.
pub(super) const NUMBERS: [&str; 2] = ["containerPort", "hostPort"];

/// It may have ports that no container occupies: those of init containers that end, and those that were removed.
#[derive(Default)]
pub(super) struct PortIndex {
    /// By number and protocol, and by name: the ports that have them.
    by_identity: HashMap<String, Vec<IndexedPort>>,
    /// The number of ports in the index.
    count: usize,
}

struct IndexedPort {
    container: Arc<str>,
    /// The number of the port in the index.
    number: usize,
    /// The index of the port in its container when it was noted.
    place: usize,
}

/// The places where a port was noted in a container, each with the numbers of the ports that were noted there.
#[derive(Default)]
pub(super) struct Noted(BTreeMap<usize, HashSet<usize>>);

/// By container name: which of the wanted ports, by their indices, the container may have, and where.
pub(super) type Owners<'p> = HashMap<&'p str, BTreeMap<usize, Noted>>;

impl PortIndex {
    pub(super) fn of<'d>(containers: impl Iterator<Item = View<'d>>) -> Self {
        let mut all = Self::default();
        for container in containers {
            let ports = present(container, "ports").map(View::items).unwrap_or_default();
            let name = text(Some(container), "name").unwrap_or_default();
            all.note(ports.into_iter().map(identities_of_view), &name, 0);
        }
        all
    }

    /// Adds the `ports` that a rule adds to the container `owner`, after the first `index` ports of that.
    pub(super) fn add(&mut self, ports: &[Overlay], owner: &str, index: usize) {
        self.note(ports.iter().map(identities_of_overlay), owner, index);
    }

    /// The containers that may have some of the `wanted` ports.
    pub(super) fn owners(&self, wanted: &[Overlay]) -> Owners<'_> {
        let mut owners = Owners::new();
        for (index, port) in wanted.iter().enumerate() {
            let identities = identities_of_overlay(port).into_iter();
            for one in identities.filter_map(|identity| self.by_identity.get(&identity)).flatten() {
                let places = owners.entry(&*one.container).or_default().entry(index).or_default();
                places.0.entry(one.place).or_default().insert(one.number);
            }
        }
        owners
    }

    fn note(&mut self, ports: impl Iterator<Item = Vec<String>>, owner: &str, index: usize) {
        let owner: Arc<str> = Arc::from(owner);
        for (place, identities) in (index..).zip(ports) {
            for identity in identities {
                let one = IndexedPort { container: Arc::clone(&owner), number: self.count, place };
                self.by_identity.entry(identity).or_default().push(one);
            }
            self.count += 1;
        }
    }
}

impl Noted {
    /// The first `conflict` with one of these places in `ports`. `None` if a port is no longer in its place; the list then has to be
    /// searched.
    pub(super) fn first<T>(&self, ports: View<'_>, conflict: impl Fn(View<'_>) -> Option<T>) -> Option<T> {
        let mut first = None;
        for (place, numbers) in &self.0 {
            let conflict = conflict(ports.item(*place)?).filter(|_| numbers.len() == 1)?;
            first.get_or_insert(conflict);
        }
        first
    }
}

fn identities_of_overlay(port: &Overlay) -> Vec<String> {
    let number = |name: &str| match port.get(name) {
        Some(Overlay::Literal(number)) => Some(number.clone()),
        _ => None,
    };
    identities(number, port.text("protocol"), port.text("name"))
}

fn identities_of_view(port: View<'_>) -> Vec<String> {
    let (protocol, name) = (text(Some(port), "protocol"), text(Some(port), "name"));
    let number = |name: &str| present(port, name).map(View::to_json);
    identities(|name| number(name).map(Into::into), protocol.as_deref(), name.as_deref())
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
