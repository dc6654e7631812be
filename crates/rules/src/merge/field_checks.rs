//! Checks of the API server that relate several fields of a pod (`ValidatePodSpec` and `ValidatePodCreate` in its
//! `pkg/apis/core/validation`). A rule that breaks one of them is not applied, so that the pod stays valid.

mod containers;
mod pods;
mod profiles;
mod resources;
mod windows;

pub(crate) use containers::ONLY_LASTING;

use vestibule_patch::View;

use super::contains::{holds, present};
use super::{Failure, Merge, invalid};
use crate::rule::{BlockList, Clause, Injected, Item, OnConflict, Part};
use crate::subject::string_member;

/// One check. It is made for rules that write one of its fields.
struct FieldCheck {
    /// Fields of the pod's specification, or of its metadata. A change of one of them may break every container.
    pod: &'static [&'static str],
    /// Fields of containers. A change of one of them may break that container.
    container: &'static [&'static str],
    error: CheckError,
}

/// Returns the error, as a sentence.
enum CheckError {
    OfPod(fn(Pod<'_>) -> Option<String>),
    OfContainer(fn(Pod<'_>, Container<'_>) -> Option<String>),
}

#[derive(Clone, Copy)]
struct Pod<'d> {
    metadata: Option<View<'d>>,
    spec: View<'d>,
    /// See [`Layout::completes`](crate::subject::Layout::completes).
    completes: Option<bool>,
}

#[derive(Clone, Copy)]
struct Container<'d> {
    view: View<'d>,
    is_init: bool,
}

/// Stands for the `volumeMounts` of a block without `mountPropagation`, which need not be compared with other mounts: a container may
/// have many.
const PLAIN_MOUNTS: &str = "volumeMounts without mountPropagation";

/// Stands for `ports` with `onConflict: override`. Other ports are compared with those of all containers when they are added.
const OVERRIDING_PORTS: &str = "ports with onConflict: override";

/// The lists of a pod whose containers are checked: a new pod has no ephemeral containers.
const LISTS: [&str; 2] = ["containers", "initContainers"];

fn checks() -> impl Iterator<Item = &'static FieldCheck> {
    [pods::CHECKS, containers::CHECKS, profiles::CHECKS, resources::CHECKS, windows::CHECKS]
        .into_iter()
        .flatten()
}

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn verify_fields(&self) -> Result<(), Failure> {
        let layout = self.draft.layout;
        let Some(spec) = self.draft.at(&layout.spec) else { return Ok(()) };
        let pod = Pod { metadata: self.draft.at(&layout.metadata), spec, completes: layout.completes };
        self.verify_pod(pod)?;
        self.verify_injected(pod)?;
        self.verify_selected(pod)
    }

    fn verify_pod(&self, pod: Pod<'_>) -> Result<(), Failure> {
        let profiles = self.rule.metadata.iter().filter(|part| profiles::is_profile(&part.item.key));
        let volumes = self.rule.volumes.iter().find(|volume| overrides(volume));
        let volumes = volumes.map(|volume| ("volumes", &volume.clause));
        for (field, clause) in written(profiles.chain(&self.rule.spec)).into_iter().chain(volumes) {
            for check in checks().filter(|check| check.pod.contains(&field)) {
                refuse(clause, check.of_pod(pod))?;
            }
        }
        Ok(())
    }

    fn verify_injected(&self, pod: Pod<'_>) -> Result<(), Failure> {
        for Injected { item, list, .. } in &self.rule.injected {
            let Some(view) = self.container(&self.draft.layout.list(list), &item.key) else { continue };
            // A container that the rule kept was not changed, so the rule is not to blame for its fields.
            let schema = self.draft.shape.container;
            if !self.draft.known.has_as_added(item) && !holds(view, item, list, schema) {
                continue;
            }
            let container = Container { view, is_init: *list == "initContainers" };
            for check in checks().filter(|check| check.container.iter().any(|field| writes(item, field))) {
                refuse(&item.clause, check.of_container(pod, container))?;
            }
        }
        Ok(())
    }

    fn verify_selected(&self, pod: Pod<'_>) -> Result<(), Failure> {
        for block in &self.rule.blocks {
            let lists =
                block.lists.iter().filter_map(|list| Some((related_name(list), &list.items.first()?.clause)));
            let fields = lists.chain(written(block.parts.iter()));
            let related = fields.flat_map(|(field, clause)| {
                let checks = checks().filter(move |check| check.container.contains(&field));
                checks.map(move |check| (check, clause))
            });
            let (of_pod, of_containers): (Vec<_>, Vec<_>) =
                related.partition(|(check, _)| matches!(check.error, CheckError::OfPod(_)));
            if of_pod.is_empty() && of_containers.is_empty() {
                continue;
            }
            let selected = self.selected(&block.select);
            for (check, clause) in of_pod.iter().filter(|_| !selected.is_empty()) {
                refuse(clause, check.of_pod(pod))?;
            }
            for (place, _) in selected {
                let Some(view) = self.draft.at(&place) else { continue };
                let container = Container { view, is_init: place.as_str().contains("/initContainers/") };
                for (check, clause) in &of_containers {
                    refuse(clause, check.of_container(pod, container))?;
                }
            }
        }
        Ok(())
    }
}

/// The fields that `parts` write, each once, with the first part of each.
fn written<'r>(parts: impl Iterator<Item = &'r Part>) -> Vec<(&'r str, &'r Clause)> {
    let field = |part: &'r Part| part.path.first().unwrap_or(&part.item.key).as_str();
    let mut fields: Vec<_> = parts.map(|part| (field(part), &part.item.clause)).collect();
    fields.dedup_by_key(|(field, _)| *field);
    fields
}

/// The name of a list, or [`PLAIN_MOUNTS`] or [`OVERRIDING_PORTS`].
fn related_name(list: &BlockList) -> &'static str {
    let is_plain = |item: &Item| item.overlay.get("mountPropagation").is_none();
    match list.member {
        "volumeMounts" if list.items.iter().all(is_plain) => PLAIN_MOUNTS,
        "ports" if list.items.iter().any(overrides) => OVERRIDING_PORTS,
        member => member,
    }
}

/// Whether the rule writes the field of the injected container `item`.
fn writes(item: &Item, field: &str) -> bool {
    let name = if field == OVERRIDING_PORTS && overrides(item) { "ports" } else { field };
    item.overlay.get(name).is_some()
}

fn overrides(item: &Item) -> bool {
    item.on_conflict == OnConflict::Override
}

fn refuse(clause: &Clause, error: Option<String>) -> Result<(), Failure> {
    error.map_or(Ok(()), |sentence| Err(invalid(clause, sentence)))
}

impl FieldCheck {
    /// The error in the pod and in all of its containers.
    fn of_pod(&self, pod: Pod<'_>) -> Option<String> {
        match self.error {
            CheckError::OfPod(error) => error(pod),
            CheckError::OfContainer(error) => pod.containers().find_map(|container| error(pod, container)),
        }
    }

    /// The error in `container`, which the rule has changed.
    fn of_container(&self, pod: Pod<'_>, container: Container<'_>) -> Option<String> {
        match self.error {
            CheckError::OfPod(error) => error(pod),
            CheckError::OfContainer(error) => error(pod, container),
        }
    }
}

impl<'d> Pod<'d> {
    fn containers(self) -> impl Iterator<Item = Container<'d>> {
        LISTS.into_iter().flat_map(move |list| {
            let all = present(self.spec, list).into_iter().flat_map(View::iter);
            all.map(move |view| Container { view, is_init: list == "initContainers" })
        })
    }

    /// Whether the field `name` is true.
    fn is(self, name: &str) -> bool {
        flag(self.spec, name) == Some(true)
    }

    fn annotations(self) -> Option<View<'d>> {
        present(self.metadata?, "annotations")
    }
}

impl<'d> Container<'d> {
    fn security(self, field: &str) -> Option<View<'d>> {
        present(present(self.view, "securityContext")?, field)
    }

    fn items(self, list: &str) -> impl Iterator<Item = View<'d>> + use<'d> {
        items(self.view, list)
    }

    /// Whether it ends before the containers of the pod start.
    fn ends(self) -> bool {
        self.is_init && !is_text(self.view, "restartPolicy", "Always")
    }
}

fn flag(object: View<'_>, name: &str) -> Option<bool> {
    present(object, name).and_then(View::as_bool)
}

fn is_text(object: View<'_>, name: &str, text: &str) -> bool {
    string_member(object, name).as_deref() == Some(text)
}

/// The items of the list `name` of `object`.
fn items<'d>(object: View<'d>, name: &str) -> impl Iterator<Item = View<'d>> + use<'d> {
    present(object, name).into_iter().flat_map(View::iter)
}
