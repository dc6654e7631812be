//! What containers listen to, where many rules bring some that do: most ports are free, and nobody has to ask every container.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use vestibule_patch::View;

use super::present;
use crate::overlay::Overlay;
use crate::subject::text;

/// The fields of a port of which no two containers may have the same, beside its name.
pub(super) const NUMBERS: [&str; 2] = ["containerPort", "hostPort"];

/// The names of the containers that listen to something, and maybe of more: init containers that end are among them, and what
/// is gone.
#[derive(Default)]
pub(super) struct Ports(HashMap<String, Vec<Arc<str>>>);

impl Ports {
    pub(super) fn of<'d>(containers: impl Iterator<Item = View<'d>>) -> Self {
        let mut all = Self::default();
        for container in containers {
            let ports = present(container, "ports").map(View::items).unwrap_or_default();
            let name = text(Some(container), "name").unwrap_or_default();
            all.note(ports.into_iter().flat_map(words_of_view), &name);
        }
        all
    }

    /// `owner` brings the ports that are `mine`.
    pub(super) fn take(&mut self, mine: &[Overlay], owner: &str) {
        self.note(mine.iter().flat_map(words_of_overlay), owner);
    }

    /// The names of those that may have one of `mine`.
    pub(super) fn owners(&self, mine: &[Overlay]) -> BTreeSet<&str> {
        let words = mine.iter().flat_map(words_of_overlay);
        words.filter_map(|word| self.0.get(&word)).flatten().map(|owner| &**owner).collect()
    }

    fn note(&mut self, words: impl Iterator<Item = String>, owner: &str) {
        let owner: Arc<str> = Arc::from(owner);
        words.for_each(|word| self.0.entry(word).or_default().push(Arc::clone(&owner)));
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
