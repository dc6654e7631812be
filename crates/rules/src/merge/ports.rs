//! What containers listen to, where many rules bring some that do, or one brings many: most ports are free, and nobody has to
//! ask every container, nor look at every port of one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::View;

use super::present;
use crate::overlay::Overlay;
use crate::subject::text;

/// The fields of a port of which no two containers may have the same, beside its name.
pub(super) const NUMBERS: [&str; 2] = ["containerPort", "hostPort"];

/// Who listens to what, and maybe more: init containers that end are among them, and what is gone.
#[derive(Default)]
pub(super) struct Ports {
    by_word: HashMap<String, Vec<Listener>>,
    /// How many ports were noted.
    count: usize,
}

struct Listener {
    container: Arc<str>,
    /// Which of the ports that were noted this is.
    number: usize,
    /// Where it stood among the ports of its container at that time.
    place: usize,
}

/// The places in which a container has one port, or had it, each with the numbers of those that were noted there.
#[derive(Default)]
pub(super) struct Noted(BTreeMap<usize, HashSet<usize>>);

/// Those that may have some of the ports of one container, by name: which of these, by their indices, and where.
pub(super) type Owners<'p> = HashMap<&'p str, BTreeMap<usize, Noted>>;

impl Ports {
    pub(super) fn of<'d>(containers: impl Iterator<Item = View<'d>>) -> Self {
        let mut all = Self::default();
        for container in containers {
            let ports = present(container, "ports").map(View::items).unwrap_or_default();
            let name = text(Some(container), "name").unwrap_or_default();
            all.note(ports.into_iter().map(words_of_view), &name, 0);
        }
        all
    }

    /// `owner` brings the ports that are `mine`, behind so many others.
    pub(super) fn take(&mut self, mine: &[Overlay], owner: &str, behind: usize) {
        self.note(mine.iter().map(words_of_overlay), owner, behind);
    }

    /// Those that may have some of `mine`.
    pub(super) fn owners(&self, mine: &[Overlay]) -> Owners<'_> {
        let mut owners = Owners::new();
        for (index, port) in mine.iter().enumerate() {
            let words = words_of_overlay(port).into_iter();
            for one in words.filter_map(|word| self.by_word.get(&word)).flatten() {
                let places = owners.entry(&*one.container).or_default().entry(index).or_default();
                places.0.entry(one.place).or_default().insert(one.number);
            }
        }
        owners
    }

    fn note(&mut self, ports: impl Iterator<Item = Vec<String>>, owner: &str, behind: usize) {
        let owner: Arc<str> = Arc::from(owner);
        for (place, words) in ports.enumerate() {
            let place = behind + place;
            for word in words {
                let one = Listener { container: Arc::clone(&owner), number: self.count, place };
                self.by_word.entry(word).or_default().push(one);
            }
            self.count += 1;
        }
    }
}

impl Noted {
    /// What `clash` says of the first of these in `ports`, unless something has come or gone: where all that were noted stand in
    /// their places there is no other one.
    pub(super) fn first<T>(&self, ports: View<'_>, clash: impl Fn(View<'_>) -> Option<T>) -> Option<T> {
        let mut first = None;
        for (place, numbers) in &self.0 {
            let clash = clash(ports.item(*place)?).filter(|_| numbers.len() == 1)?;
            first.get_or_insert(clash);
        }
        first
    }
}

fn words_of_overlay(port: &Overlay) -> Vec<String> {
    let number = |name: &str| match port.get(name) {
        Some(Overlay::Literal(number)) => Some(number.clone()),
        _ => None,
    };
    words(number, port.text("protocol"), port.text("name"))
}

fn words_of_view(port: View<'_>) -> Vec<String> {
    let (protocol, name) = (text(Some(port), "protocol"), text(Some(port), "name"));
    let number = |name: &str| present(port, name).map(View::to_json);
    words(|name| number(name).map(Into::into), protocol.as_deref(), name.as_deref())
}

fn words(number: impl Fn(&str) -> Option<String>, protocol: Option<&str>, name: Option<&str>) -> Vec<String> {
    let protocol = protocol.unwrap_or("TCP");
    let numbers = NUMBERS.iter().filter_map(|field| Some(format!("{field} {} {protocol}", number(field)?)));
    numbers.chain(name.map(|name| format!("name {name}"))).collect()
}
