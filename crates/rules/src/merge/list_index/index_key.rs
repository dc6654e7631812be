//! By what items of a list are told apart.

use std::borrow::Cow;

use vestibule_patch::{Key, Kind, List, Schema, View};

use crate::key;
use crate::merge::present;
use crate::overlay::Overlay;
use crate::pod;
use crate::yaml::write_quoted;

/// Items of which this is the same are the same to a rule.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::merge) enum IndexKey {
    /// The members that the schema names.
    Keys(&'static [Key]),
    /// What stands in these places of an item without keys: the ways to all that the rule wants there.
    Contents(Vec<Vec<String>>),
}

impl IndexKey {
    /// What tells `item`, and all that are like it, from the others of the list `name`; nothing where that takes a closer look,
    /// as at quantities, which have several spellings.
    pub(in crate::merge) fn of(schema: Schema<'_>, name: &str, item: &Overlay) -> Option<Self> {
        if let List::Map(keys) = schema.list() {
            return Some(Self::Keys(keys));
        }
        let mut places = Vec::new();
        gather(item, name, &mut Vec::new(), &mut places).then_some(Self::Contents(places))
    }

    /// The same of `overlay`, an item with this key.
    pub(super) fn of_item<'i>(&self, key: &'i str, overlay: &'i Overlay) -> Cow<'i, str> {
        match self {
            Self::Keys(_) => Cow::Borrowed(key),
            Self::Contents(places) => Cow::Owned(written(places, |place| {
                match place.iter().try_fold(overlay, |found, name| found.get(name))? {
                    Overlay::Text(text) => Some((Cow::Borrowed(text), true)),
                    Overlay::Literal(json) => Some((Cow::Borrowed(json), false)),
                    Overlay::List(_) | Overlay::Map(_) | Overlay::Expression(_) => None,
                }
            })),
        }
    }

    pub(super) fn of_view<'d>(&self, item: View<'d>) -> Cow<'d, str> {
        match self {
            Self::Keys(keys) => key::of_view(item, keys),
            Self::Contents(places) => Cow::Owned(written(places, |place| {
                let found = place.iter().try_fold(item, |found, name| present(found, name))?;
                match found.kind() {
                    Kind::String => Some((found.as_str()?, true)),
                    Kind::Number | Kind::Bool => Some((found.to_json(), false)),
                    Kind::Array | Kind::Object | Kind::Null => None,
                }
            })),
        }
    }
}

/// Adds the ways to all scalars of `overlay`, the value of the member `name`. Whether whoever has the same there holds all of
/// it, and nobody else.
// Recursion is bounded by the depth of the rule's own document.
fn gather(overlay: &Overlay, name: &str, way: &mut Vec<String>, ways: &mut Vec<Vec<String>>) -> bool {
    match overlay {
        Overlay::Text(_) | Overlay::Literal(_) => {
            ways.push(way.clone());
            !pod::is_quantity(name) && name != "mountPath" && !pod::is_default(name, &overlay.to_json())
        }
        Overlay::Map(members) => {
            !members.is_empty()
                && members.iter().all(|member| {
                    let name = if pod::is_text_map(name) { name } else { &member.name };
                    way.push(member.name.clone());
                    let alone = member.known && gather(&member.value, name, way, ways);
                    way.pop();
                    alone
                })
        }
        Overlay::List(_) | Overlay::Expression(_) => false,
    }
}

/// What stands in `places`, each a text or not; empty where one of them is missing.
fn written<'t>(places: &[Vec<String>], at: impl Fn(&[String]) -> Option<(Cow<'t, str>, bool)>) -> String {
    let mut all = String::new();
    for place in places {
        match at(place) {
            Some((text, true)) => write_quoted(&mut all, &text),
            Some((literal, false)) => all.push_str(&literal),
            None => return String::new(),
        }
        all.push(',');
    }
    all
}
