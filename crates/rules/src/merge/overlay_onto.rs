//! `override`: changes a value of the object so that it contains an overlay, with as few operations as possible.

use vestibule_patch::{Operation, Pointer, Schema};

use super::contains::{contains, find, further_members, is_open, means_absence, present};
use super::draft::Draft;
use super::json;
use crate::decision::Origin;
use crate::overlay::Overlay;
use crate::pod;

/// Changes the value at `path`, which must exist, so that it contains `overlay`.
// Recursion is bounded by the depth of the rule's own document.
pub(super) fn overlay_onto(
    draft: &mut Draft<'_>,
    path: &Pointer,
    overlay: &Overlay,
    schema: Schema<'_>,
    origin: &Origin,
) -> Result<(), String> {
    draft.known.clear();
    match overlay {
        Overlay::Text(_) | Overlay::Literal(_) | Overlay::Expression(_) | Overlay::Loop(_) => {
            replace(draft, path, overlay, origin)
        }
        Overlay::Map(_) if pod::is_one_value(&last(path)) => replace(draft, path, overlay, origin),
        Overlay::Map(members) => {
            let map = last(path);
            for member in members {
                remove_alternatives(draft, path, &member.name, origin)?;
                let below = path.child(&member.name);
                let schema = schema.field(&member.name);
                match draft.at(&below) {
                    None if means_absence(|| draft.at(path), &map, &member.name, &member.value) => {}
                    None => draft.set(below, json::of_overlay(&member.value)?, origin.clone())?,
                    Some(found) if contains(found, &member.value, &member.name, schema) => {}
                    Some(_) => overlay_onto(draft, &below, &member.value, schema, origin)?,
                }
            }
            Ok(())
        }
        Overlay::List(items) if is_open(items, &last(path), schema) => {
            for item in items {
                override_item(draft, path, item, schema, origin)?;
            }
            Ok(())
        }
        Overlay::List(_) => replace(draft, path, overlay, origin),
    }
}

/// Removes the members of the item at `path` of the list `name` with which it is not the same as `overlay`.
pub(super) fn remove_further(
    draft: &mut Draft<'_>,
    path: &Pointer,
    name: &str,
    overlay: &Overlay,
    origin: &Origin,
) -> Result<(), String> {
    if !pod::compares_all_members(name) {
        return Ok(());
    }
    let further = draft.at(path).map(|found| further_members(found, overlay)).unwrap_or_default();
    further
        .into_iter()
        .try_for_each(|member| draft.apply(Operation::Remove { path: path.child(&member) }, origin.clone()))
}

fn replace(draft: &mut Draft<'_>, path: &Pointer, overlay: &Overlay, origin: &Origin) -> Result<(), String> {
    let value = json::of_overlay(overlay)?;
    draft.apply(Operation::Replace { path: path.clone(), value }, origin.clone())
}

/// The last member of `path`.
fn last(path: &Pointer) -> String {
    path.split_last().map(|(_, name)| name.into_owned()).unwrap_or_default()
}

fn override_item(
    draft: &mut Draft<'_>,
    list: &Pointer,
    item: &Overlay,
    schema: Schema<'_>,
    origin: &Origin,
) -> Result<(), String> {
    let name = last(list);
    let existing = draft.at(list).map(vestibule_patch::View::items).unwrap_or_default();
    let length = existing.len();
    match find(&existing, item, &name, schema) {
        None => draft.append(list, length, json::of_overlay(item)?, origin.clone()),
        Some((_, found)) if contains(found, item, &name, schema.item()) => Ok(()),
        Some((index, _)) => overlay_onto(draft, &list.item(index), item, schema.item(), origin),
    }
}

/// Removes the other members of the union that `member` is in.
fn remove_alternatives(
    draft: &mut Draft<'_>,
    path: &Pointer,
    member: &str,
    origin: &Origin,
) -> Result<(), String> {
    let Some(union) = pod::union_of(member) else { return Ok(()) };
    for other in union.iter().filter(|other| **other != member) {
        if draft.at(path).is_some_and(|object| present(object, other).is_some()) {
            draft.apply(Operation::Remove { path: path.child(other) }, origin.clone())?;
        }
    }
    Ok(())
}
