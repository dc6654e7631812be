//! What the API server checks across the fields of one container, as far as the rule touched them.

use vestibule_patch::View;

use super::{Failure, Merge, holds, invalid, present};
use crate::overlay::Overlay;
use crate::quantity::nanos;
use crate::rule::{Item, Part};
use crate::subject::text;

/// Fields that only containers have which go on running.
pub(crate) const ONLY_LASTING: &[&str] = &["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

impl Merge<'_, '_, '_, '_> {
    pub(super) fn verify_containers(&self) -> Result<(), Failure> {
        let schema = self.context.shape.container;
        for one in self.rule.injected.iter().filter(|one| !self.is_sound_by_itself(&one.item)) {
            let found = self.container(&self.context.layout.list(one.list), &one.item.key);
            // What was kept is somebody else's, and so is what is wrong with it.
            let Some(found) = found.filter(|found| holds(*found, &one.item, one.list, schema)) else {
                continue;
            };
            let amounts = one.item.overlay.get("resources").map(Overlay::members).unwrap_or_default();
            let mut keys =
                amounts.iter().flat_map(|group| group.value.members()).map(|entry| entry.name.as_str());
            let trouble = keys.find_map(|key| amounts_of(found, key)).or_else(|| privileges_of(found));
            if let Some(sentence) = trouble {
                return Err(invalid(&one.item.clause, sentence));
            }
        }
        for block in self.rule.blocks.iter().filter(|block| !block.parts.is_empty()) {
            for (place, _) in self.selected(&block.select) {
                let Some(container) = self.draft.at(&place) else { continue };
                let init = place.as_str().contains("/initContainers/");
                for Part { path, item, .. } in &block.parts {
                    let field = path.first().unwrap_or(&item.key).as_str();
                    let trouble = match field {
                        "resources" => amounts_of(container, &item.key),
                        "securityContext" => privileges_of(container),
                        field if init && ONLY_LASTING.contains(&field) => ends_with(container, field),
                        _ => None,
                    };
                    if let Some(sentence) = trouble {
                        return Err(invalid(&item.clause, sentence));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a container stands there as the rule brings it, and says nothing of what could be wrong.
    fn is_sound_by_itself(&self, item: &Item) -> bool {
        let says = |name| item.overlay.get(name).is_some();
        !says("resources") && !says("securityContext") && self.draft.known().has_as_brought(item)
    }
}

/// What is wrong with the request and the limit of `key`.
fn amounts_of(container: View<'_>, key: &str) -> Option<String> {
    let resources = present(container, "resources")?;
    let amount = |group: &str| {
        let amount = present(present(resources, group)?, key)?;
        nanos(&amount.as_str().unwrap_or_else(|| amount.to_json()))
    };
    let request = amount("requests")?;
    // What nodes cannot give to several at once has to be asked for exactly.
    let exact = key.starts_with("hugepages-") || key.contains('/') && !key.contains("kubernetes.io/");
    match amount("limits") {
        Some(limit) if request > limit => {
            Some(format!("more `{key}` would be requested than its limit allows"))
        }
        Some(limit) if exact && request != limit => {
            Some(format!("request and limit of `{key}` have to be equal"))
        }
        None if exact => Some(format!("a request of `{key}` needs a limit that is equal")),
        _ => None,
    }
}

fn privileges_of(container: View<'_>) -> Option<String> {
    let context = present(container, "securityContext")?;
    let flag = |name: &str| present(context, name).and_then(View::as_bool);
    let added = present(context, "capabilities").and_then(|capabilities| present(capabilities, "add"));
    let mut added = added.map(View::items).unwrap_or_default().into_iter().filter_map(View::as_str);
    // The API server looks for this one spelling; the other, which runtimes read the same, it lets through.
    let escalates = flag("privileged") == Some(true) || added.any(|one| one == "CAP_SYS_ADMIN");
    (escalates && flag("allowPrivilegeEscalation") == Some(false)).then(|| {
        "`allowPrivilegeEscalation: false` and the privileges of the container exclude each other".to_owned()
    })
}

fn ends_with(container: View<'_>, field: &str) -> Option<String> {
    let ends = text(Some(container), "restartPolicy").as_deref() != Some("Always");
    (ends && present(container, field).is_some())
        .then(|| format!("an init container that ends cannot have `{field}`"))
}
