//! What containers listen to, where many rules bring some that do: most ports are free, and nobody has to ask every container.

use std::collections::HashSet;

use vestibule_patch::View;

use super::present;
use crate::overlay::Overlay;
use crate::subject::text;

/// The fields of a port of which no two containers may have the same, beside its name.
pub(super) const NUMBERS: [&str; 2] = ["containerPort", "hostPort"];

/// All that containers listen to, and maybe more: init containers that end are among them.
pub(super) struct Ports(HashSet<String>);

impl Ports {
    pub(super) fn of<'d>(containers: impl Iterator<Item = View<'d>>) -> Self {
        let ports = containers.flat_map(|one| present(one, "ports").map(View::items).unwrap_or_default());
        Self(ports.flat_map(words_of_view).collect())
    }

    /// Notes the ports that are `mine`. Whether somebody may have one of them already.
    pub(super) fn take(&mut self, mine: &[Overlay]) -> bool {
        let words: Vec<String> = mine.iter().flat_map(words_of_overlay).collect();
        let free = self.0.len() + words.len();
        self.0.extend(words);
        self.0.len() < free
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
