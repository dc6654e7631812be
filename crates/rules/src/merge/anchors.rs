//! Whether the containers of rules stand where `position` wants them: other webhooks insert theirs between the calls.

use vestibule_patch::{Schema, View};

use super::{Draft, contains};
use crate::diagnostic::shown;
use crate::rule::{Injected, Place, Rule};
use crate::subject::{Layout, text};

/// Warnings about containers of `rules` that others have come before or behind. Nothing is moved: to move our own is
/// what `strict` is kept for, and the others' are not ours.
pub(crate) fn violated(
    rules: &[&Rule],
    layout: &Layout,
    pod: Schema<'static>,
    draft: &Draft<'_>,
) -> Vec<String> {
    let brought = |name: &str| rules.iter().flat_map(|rule| &rule.injected).any(|one| one.item.key == name);
    let container = pod.field("spec").field("containers").item();
    let mut warnings = Vec::new();
    for rule in rules {
        for Injected { item, list, place, .. } in rule.injected.iter().filter(|one| one.positioned) {
            let existing = draft.at(&layout.spec.child(list)).map(View::items).unwrap_or_default();
            let names: Vec<String> =
                existing.iter().map(|one| text(Some(*one), "name").unwrap_or_default()).collect();
            let Some(index) = names.iter().position(|name| *name == item.key) else { continue };
            // One that was kept is somebody else's, wherever it stands.
            if !existing.get(index).is_some_and(|found| contains(*found, &item.overlay, list, container)) {
                continue;
            }
            let (mut before, mut after) = (names.iter().take(index), names.iter().skip(index + 1));
            let foreign = |name: &&String| !brought(name);
            let (other, side) = match place {
                Place::First => (before.find(foreign), "before"),
                Place::Last => (after.find(foreign), "behind"),
                Place::Before(anchor) => (before.find(|name| *name == anchor), "before"),
                Place::After(anchor) => (after.find(|name| *name == anchor), "behind"),
            };
            if let Some(other) = other {
                warnings.push(format!(
                    "anchor_violated: `{}` stands {side} container `{}` in `{list}`, against the position that rule {} \
                     gives it; nothing was moved",
                    shown(other),
                    item.key,
                    rule.name,
                ));
            }
        }
    }
    warnings
}
