//! Whether the object contains an overlay already. Members and items that others have added do not matter.

use vestibule_patch::{Kind, List, Schema, View};

use crate::key;
use crate::overlay::{Member, Overlay};
use crate::pod;
use crate::quantity::{nanos, rounded_nanos};
use crate::rule::Item;

/// Whether `found`, an item or member `name` of the object, contains the overlay of `item`.
pub(crate) fn holds(found: View<'_>, item: &Item, name: &str, schema: Schema<'_>) -> bool {
    let written = found.as_written();
    // The text is equal if the rule has added the item itself.
    written.is_some() && written == item.json().map(|json| json.get())
        || contains(found, &item.overlay, name, schema)
            && !(pod::compares_all_members(name) && has_more(found, &item.overlay))
}

/// Whether `found`, the value of the member `name`, contains `overlay`.
pub(crate) fn contains(found: View<'_>, overlay: &Overlay, name: &str, schema: Schema<'_>) -> bool {
    match overlay {
        Overlay::Text(text) => {
            found.as_str().is_some_and(|found| {
                found == *text
                    || pod::is_quantity(name) && same_amount(name, &found, text)
                    || same_path(name, &found, text)
                    || pod::is_replaced(name, text, &found)
            }) || pod::is_quantity(name)
                && found.kind() == Kind::Number
                && same_amount(name, &found.to_json(), text)
        }
        Overlay::Literal(json) => {
            let found = found.to_json();
            found == json.as_str() || pod::is_replaced(name, json, &found)
        }
        // A value that is not computed yet cannot be in the object.
        Overlay::Expression(_) | Overlay::Loop(_) => false,
        Overlay::List(items) => contains_items(found, items, name, schema),
        Overlay::Map(members) => {
            found.kind() == Kind::Object
                && members.iter().all(|member| contains_member(found, member, name, schema))
        }
    }
}

/// The first member of `overlay` that `found`, the value of the member `name`, does not contain.
pub(super) fn first_difference<'o>(
    found: View<'_>,
    overlay: &'o Overlay,
    name: &str,
    schema: Schema<'_>,
) -> Option<&'o str> {
    let differs = |member: &&Member| !contains_member(found, member, name, schema);
    overlay.members().iter().find(differs).map(|member| member.name.as_str())
}

fn contains_member(found: View<'_>, member: &Member, name: &str, schema: Schema<'_>) -> bool {
    if !member.known {
        return true;
    }
    let (map, is_entry) = (name, pod::is_text_map(name));
    // All entries of maps such as `requests` have the type that the name of the map determines.
    let name = if is_entry { map } else { &member.name };
    match present(found, &member.name) {
        Some(found) if !is_entry && is_replaced_policy(name, found) => true,
        Some(found) => {
            let schema = match &member.value {
                Overlay::List(_) | Overlay::Map(_) => schema.field(&member.name),
                // The schema of a scalar is not used.
                _ => schema,
            };
            contains(found, &member.value, name, schema)
        }
        None if !is_entry && is_dropped(member) => true,
        None => means_absence(|| Some(found), map, &member.name, &member.value),
    }
}

/// Whether API servers with the feature gates of Kubernetes 1.36 drop the member. An object that contains nothing else is dropped too.
fn is_dropped(member: &Member) -> bool {
    match &member.value {
        Overlay::Map(members) => member.name == "lifecycle" && members.iter().all(is_dropped),
        _ => member.name == "stopSignal",
    }
}

fn contains_items(found: View<'_>, wanted: &[Overlay], name: &str, schema: Schema<'_>) -> bool {
    let items = found.items();
    let same = |(found, wanted): (&View<'_>, &Overlay)| contains(*found, wanted, name, schema.item());
    if is_open(wanted, name, schema) {
        return wanted.iter().all(|wanted| {
            find(&items, wanted, name, schema).is_some_and(|(_, found)| same((&found, wanted)))
        });
    }
    found.kind() == Kind::Array && items.len() == wanted.len() && items.iter().zip(wanted).all(same)
}

/// Whether single items can be added to the list `name`. Other lists, such as `args`, are one value.
pub(crate) fn is_open(wanted: &[Overlay], name: &str, schema: Schema<'_>) -> bool {
    match schema.list() {
        List::Map(_) | List::Set => true,
        List::Atomic => pod::is_open_list(name),
        List::Unknown => {
            let is_map = |item: &Overlay| matches!(item, Overlay::Map(_) | Overlay::Loop(_));
            pod::is_open_list(name) || wanted.iter().all(is_map)
        }
    }
}

/// The item that is the same as `wanted`: the one with its key, or in a list without keys one that contains it and, if all
/// members of its items are compared, nothing else. If there are several, it is the one that takes effect: in `env` the last, of
/// tolerations the first. Of ports it is one that contains `wanted`, if there is one.
pub(crate) fn find<'d>(
    items: &[View<'d>],
    wanted: &Overlay,
    name: &str,
    schema: Schema<'_>,
) -> Option<(usize, View<'d>)> {
    let index = match pod::item_keys(name, schema.list()) {
        Some(keys) => {
            let key = key::of_overlay(wanted, keys);
            let is_same = |found: &View<'_>| key::of_view(*found, keys) == key;
            let has_all = |found: &View<'_>| is_same(found) && contains(*found, wanted, name, schema.item());
            if pod::first_takes_effect(name) {
                items.iter().position(is_same)
            } else {
                let equal = pod::may_repeat(keys).then(|| items.iter().rposition(has_all)).flatten();
                equal.or_else(|| items.iter().rposition(is_same))
            }
        }
        None => {
            let is_other = |found: &View<'_>| pod::compares_all_members(name) && has_more(*found, wanted);
            let is_same =
                |found: &View<'_>| contains(*found, wanted, name, schema.item()) && !is_other(found);
            items.iter().rposition(is_same)
        }
    }?;
    items.get(index).map(|found| (index, *found))
}

/// Whether `found` has a member that `wanted` does not have and that makes it another item. A member with its default value does
/// not count.
// Recursion is bounded by the depth of the rule's own document.
fn has_more(found: View<'_>, wanted: &Overlay) -> bool {
    found.entries().into_iter().any(|(name, value)| match wanted.get(&name) {
        Some(wanted) => has_more(value, wanted),
        None => is_further(&name, value),
    })
}

/// The members of `found` that `wanted` does not have and that make it another item.
pub(super) fn further_members(found: View<'_>, wanted: &Overlay) -> Vec<String> {
    let all = found.entries().into_iter();
    let further = all.filter(|(name, value)| wanted.get(name).is_none() && is_further(name, *value));
    further.map(|(name, _)| name.into_owned()).collect()
}

fn is_further(name: &str, value: View<'_>) -> bool {
    !value.is_null() && !is_default(name, value) && pod::tells_items_apart(name)
}

/// Whether leaving out the member `name` means the same as `value`.
pub(super) fn is_default(name: &str, value: View<'_>) -> bool {
    match value.kind() {
        Kind::String => value.as_str().is_some_and(|text| pod::is_default_text(name, &text)),
        Kind::Number | Kind::Bool => pod::is_default_literal(name, &value.to_json()),
        Kind::Array | Kind::Object | Kind::Null => false,
    }
}

/// The member `name`, unless it is null.
pub(crate) fn present<'d>(object: View<'d>, name: &str) -> Option<View<'d>> {
    object.get(name).filter(|value| !value.is_null())
}

/// Whether the admission plugin AlwaysPullImages may have replaced the pull policy of a container or of a volume.
fn is_replaced_policy(name: &str, found: View<'_>) -> bool {
    ["imagePullPolicy", "pullPolicy"].contains(&name) && found.as_str().as_deref() == Some("Always")
}

fn same_path(name: &str, one: &str, other: &str) -> bool {
    name == "mountPath" && key::trimmed_path(one) == key::trimmed_path(other)
}

fn same_amount(name: &str, one: &str, other: &str) -> bool {
    let amount = if pod::is_rounded(name) { rounded_nanos } else { nanos };
    matches!((amount(one), amount(other)), (Some(one), Some(other)) if one == other)
}

/// Whether the absent member `name` of `object`, the value of the member `map`, means the same as the value `wanted`, and no other
/// member excludes it. The API server omits such a value. An entry of a map of texts is stored, even if it is empty.
pub(super) fn means_absence<'d>(
    object: impl FnOnce() -> Option<View<'d>>,
    map: &str,
    name: &str,
    wanted: &Overlay,
) -> bool {
    let has_no_other = |object| {
        let mut others = pod::union_of(name).unwrap_or_default().iter().filter(|other| **other != name);
        others.all(|other| present(object, other).is_none())
    };
    wanted.is_default(name) && !pod::is_text_map(map) && object().is_some_and(has_no_other)
}
