//! The key of an index: the members that distinguish the items of a list.

use std::borrow::Cow;

use serde_json::value::RawValue;
use vestibule_patch::{Key, Kind, List, Schema, View};

use crate::key;
use crate::merge::contains::{is_default, present};
use crate::overlay::Overlay;
use crate::pod;
use crate::yaml::write_quoted;

/// The members of an item by which it is found.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::merge) enum IndexKey {
    /// The members that identify an item ([`pod::item_keys`]).
    Keys(&'static [Key]),
    /// For a list without merge keys: the paths of all scalars in the item that is looked up.
    Contents(Vec<Vec<String>>),
    /// For a list whose items are compared by all members: these members, without default values.
    AllMembers {
        /// Whether those are among them that the item may have if the wanted one does not ([`pod::tells_items_apart`]).
        even_optional: bool,
    },
}

impl IndexKey {
    /// The key for lookups of the item that is the same as `item` in the list `name`. `None` if equal texts do not decide, as for
    /// quantities, which have several spellings.
    pub(in crate::merge) fn of(schema: Schema<'_>, name: &str, item: &Overlay) -> Option<Self> {
        if let Some(keys) = pod::item_keys(name, schema.list()) {
            return Some(Self::Keys(keys));
        }
        match Self::of_containing(schema, name, item)? {
            Self::Contents(paths) if pod::compares_all_members(name) => {
                let is_compared =
                    |path: &Vec<String>| path.iter().all(|member| pod::tells_items_apart(member));
                Some(Self::AllMembers { even_optional: !paths.iter().all(is_compared) })
            }
            key => Some(key),
        }
    }

    /// The key for lookups of the items that contain `item`.
    pub(in crate::merge) fn of_containing(schema: Schema<'_>, name: &str, item: &Overlay) -> Option<Self> {
        if let List::Map(keys) = schema.list() {
            return Some(Self::Keys(keys));
        }
        let mut paths = Vec::new();
        scalar_paths(item, name, &mut Vec::new(), &mut paths).then_some(Self::Contents(paths))
    }

    /// The key of `overlay`, an item of a rule with the merge key `key`.
    pub(super) fn of_item<'i>(&self, key: &'i str, overlay: &'i Overlay) -> Cow<'i, str> {
        match self {
            Self::Keys(_) => Cow::Borrowed(key),
            Self::Contents(paths) => Cow::Owned(joined(paths, |path| {
                match path.iter().try_fold(overlay, |found, name| found.get(name))? {
                    Overlay::Text(text) => Some((Cow::Borrowed(text), true)),
                    Overlay::Literal(json) => Some((Cow::Borrowed(json), false)),
                    Overlay::List(_) | Overlay::Map(_) | Overlay::Expression(_) | Overlay::Loop(_) => None,
                }
            })),
            Self::AllMembers { even_optional } => {
                let json = RawValue::from_string(overlay.to_json());
                Cow::Owned(json.map(|json| all_members(View::of(&json), *even_optional)).unwrap_or_default())
            }
        }
    }

    /// The key of an item of the object.
    pub(super) fn of_view<'d>(&self, item: View<'d>) -> Cow<'d, str> {
        match self {
            Self::Keys(keys) => key::of_view(item, keys),
            Self::Contents(paths) => Cow::Owned(joined(paths, |path| {
                let found = path.iter().try_fold(item, |found, name| present(found, name))?;
                match found.kind() {
                    Kind::String => Some((found.as_str()?, true)),
                    Kind::Number | Kind::Bool => Some((found.to_json(), false)),
                    Kind::Array | Kind::Object | Kind::Null => None,
                }
            })),
            Self::AllMembers { even_optional } => Cow::Owned(all_members(item, *even_optional)),
        }
    }
}

/// Adds the paths of all scalars in `overlay`, the value of the member `name`. Returns whether exactly the items with the same texts
/// at these paths contain `overlay`.
// Recursion is bounded by the depth of the rule's own document.
fn scalar_paths(overlay: &Overlay, name: &str, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> bool {
    match overlay {
        Overlay::Text(_) | Overlay::Literal(_) => {
            paths.push(path.clone());
            !pod::is_quantity(name) && name != "mountPath" && !overlay.is_default(name)
        }
        Overlay::Map(members) => {
            !members.is_empty()
                && members.iter().all(|member| {
                    let name = if pod::is_text_map(name) { name } else { &member.name };
                    path.push(member.name.clone());
                    let decides = member.known && scalar_paths(&member.value, name, path, paths);
                    path.pop();
                    decides
                })
        }
        Overlay::List(_) | Overlay::Expression(_) | Overlay::Loop(_) => false,
    }
}

/// The scalars at all `paths`, or an empty text if one is absent. `at` returns the scalar, and whether it is a string.
fn joined<'t>(paths: &[Vec<String>], at: impl Fn(&[String]) -> Option<(Cow<'t, str>, bool)>) -> String {
    let mut all = String::new();
    for path in paths {
        match at(path) {
            Some((text, true)) => write_quoted(&mut all, &text),
            Some((literal, false)) => all.push_str(&literal),
            None => return String::new(),
        }
        all.push(',');
    }
    all
}

/// All members of `item` and of the maps within it, without default values.
fn all_members(item: View<'_>, even_optional: bool) -> String {
    let mut members = Vec::new();
    add_members(item, "", even_optional, &mut members);
    members.sort_unstable();
    members.join(",")
}

// Recursion is bounded by the depth of the document.
fn add_members(map: View<'_>, path: &str, even_optional: bool, members: &mut Vec<String>) {
    for (name, value) in map.entries().into_iter().filter(|(_, value)| !value.is_null()) {
        let mut member = path.to_owned();
        write_quoted(&mut member, &name);
        match value.as_str() {
            _ if is_default(&name, value) || !(even_optional || pod::tells_items_apart(&name)) => continue,
            Some(text) => write_quoted(&mut member, &text),
            None if value.kind() == Kind::Object => add_members(value, &member, even_optional, members),
            None => member.push_str(&value.to_json()),
        }
        members.push(member);
    }
}
