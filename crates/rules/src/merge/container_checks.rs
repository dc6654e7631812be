//! Checks of the API server that relate several fields of one container, for containers that the rule has changed.

use vestibule_patch::View;

use super::contains::{holds, present};
use super::{Failure, Merge, invalid};
use crate::overlay::Overlay;
use crate::quantity::rounded_nanos;
use crate::rule::{Item, Part};
use crate::subject::string_member;

/// Fields that only containers may have that do not end.
pub(crate) const ONLY_LASTING: &[&str] = &["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

impl Merge<'_, '_, '_, '_> {
    pub(super) fn verify_containers(&self) -> Result<(), Failure> {
        let schema = self.draft.shape.container;
        for one in self.rule.injected.iter().filter(|one| self.needs_check(&one.item)) {
            let found = self.container(&self.draft.layout.list(one.list), &one.item.key);
            // A container that the rule kept was not changed, so the rule is not to blame for its fields.
            let Some(found) = found.filter(|found| holds(*found, &one.item, one.list, schema)) else {
                continue;
            };
            let amounts = one.item.overlay.get("resources").map(Overlay::members).unwrap_or_default();
            let mut keys =
                amounts.iter().flat_map(|group| group.value.members()).map(|entry| entry.name.as_str());
            let error = keys.find_map(|key| resource_error(found, key)).or_else(|| privilege_error(found));
            let mut fields = ONLY_LASTING.iter().filter(|field| one.item.overlay.get(field).is_some());
            let error = error.or_else(|| fields.find_map(|field| self.handler_error(found, field)));
            if let Some(sentence) = error {
                return Err(invalid(&one.item.clause, sentence));
            }
        }
        for block in self.rule.blocks.iter().filter(|block| !block.parts.is_empty()) {
            for (place, _) in self.selected(&block.select) {
                let Some(container) = self.draft.at(&place) else { continue };
                let is_init = place.as_str().contains("/initContainers/");
                for Part { path, item, .. } in &block.parts {
                    let field = path.first().unwrap_or(&item.key).as_str();
                    let error = match field {
                        "resources" => resource_error(container, &item.key),
                        "securityContext" => privilege_error(container),
                        field if ONLY_LASTING.contains(&field) => is_init
                            .then(|| lifetime_error(container, field))
                            .flatten()
                            .or_else(|| self.handler_error(container, field)),
                        _ => None,
                    };
                    if let Some(sentence) = error {
                        return Err(invalid(&item.clause, sentence));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the injected container has fields that are checked, or may have been in the object before.
    fn needs_check(&self, item: &Item) -> bool {
        let has = |name: &str| item.overlay.get(name).is_some();
        has("resources")
            || has("securityContext")
            || ONLY_LASTING.iter().any(|name| has(name))
            || !self.draft.known.has_as_added(item)
    }

    /// The error in a hook or probe of [`ONLY_LASTING`].
    fn handler_error(&self, container: View<'_>, field: &str) -> Option<String> {
        let value = present(container, field)?;
        if field != "lifecycle" {
            let has_handler = PROBE_HANDLERS.iter().any(|handler| present(value, handler).is_some());
            return (!has_handler).then(|| {
                format!("`{field}` needs one of {}, and the container has none", PROBE_HANDLERS.join(", "))
            });
        }
        let whole = |number: View<'_>| number.to_json().parse::<i64>().ok();
        let given = self.draft.at(&self.draft.layout.spec.child("terminationGracePeriodSeconds"));
        let grace = given.and_then(whole).unwrap_or(DEFAULT_GRACE);
        ["postStart", "preStop"].into_iter().find_map(|hook| {
            let sleep = present(present(present(value, hook)?, "sleep")?, "seconds").and_then(whole)?;
            (sleep > grace).then(|| {
                format!("the container would sleep {sleep} s in `{hook}`, and the pod has {grace} s to end")
            })
        })
    }
}

/// The members of a probe of which it has one.
const PROBE_HANDLERS: &[&str] = &["exec", "grpc", "httpGet", "tcpSocket"];

/// The seconds that the API server gives a pod to end, unless it names others.
const DEFAULT_GRACE: i64 = 30;

/// The error in the request and the limit of the resource `key`.
fn resource_error(container: View<'_>, key: &str) -> Option<String> {
    let resources = present(container, "resources")?;
    let amount = |group: &str| {
        let amount = present(present(resources, group)?, key)?;
        rounded_nanos(&amount.as_str().unwrap_or_else(|| amount.to_json()))
    };
    let request = amount("requests")?;
    // Huge pages and extended resources cannot be overcommitted.
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

fn privilege_error(container: View<'_>) -> Option<String> {
    let context = present(container, "securityContext")?;
    let flag = |name: &str| present(context, name).and_then(View::as_bool);
    let added = present(context, "capabilities").and_then(|capabilities| present(capabilities, "add"));
    let mut added = added.map(View::items).unwrap_or_default().into_iter().filter_map(View::as_str);
    // The API server checks this spelling only. It accepts `SYS_ADMIN`, which runtimes read the same way.
    let escalates = flag("privileged") == Some(true) || added.any(|one| one == "CAP_SYS_ADMIN");
    (escalates && flag("allowPrivilegeEscalation") == Some(false)).then(|| {
        "`allowPrivilegeEscalation: false` and the privileges of the container exclude each other".to_owned()
    })
}

fn lifetime_error(container: View<'_>, field: &str) -> Option<String> {
    let ends = string_member(container, "restartPolicy").as_deref() != Some("Always");
    (ends && present(container, field).is_some())
        .then(|| format!("an init container that ends cannot have `{field}`"))
}
