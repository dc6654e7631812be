//! Checks of the API server that relate several fields of a pod (`ValidatePodSpec` and `ValidatePodCreate` in its
//! `pkg/apis/core/validation`). A rule that breaks one of them is not applied, so that the pod stays valid.

mod containers;
mod pod;
mod profiles;
mod resources;
mod whole_pod;
mod windows;

pub(crate) use containers::ONLY_LASTING;

use std::cell::LazyCell;

use pod::{Container, Pod};

use super::contains::holds;
use super::{Failure, Merge, invalid};
use crate::diagnostic::printable_short;
use crate::overlay::Overlay;
use crate::rule::{Block, BlockList, Clause, Injected, Item, OnConflict, Part};

/// One check. It is made for rules that write one of its fields.
struct FieldCheck {
    /// Fields of the pod's specification, or of its metadata. A change of one of them may break every container.
    pod: &'static [&'static str],
    /// Fields of containers. A change of one of them may break that container.
    container: &'static [&'static str],
    error: CheckError,
}

/// Returns the error, as a sentence.
#[derive(Clone, Copy)]
enum CheckError {
    OfPod(fn(&Pod<'_>) -> Option<String>),
    OfContainer(fn(&Pod<'_>, Container<'_>) -> Option<String>),
}

/// The name of `volumeMounts` without `mountPropagation`. Only the check of devices uses it.
const PLAIN_MOUNTS: &str = "volumeMounts without mountPropagation";

/// The name of such mounts with `onConflict: override`, which may change a mount of the pod.
const OVERRIDING_MOUNTS: &str = "volumeMounts with onConflict: override";

/// The name of `ports` with `onConflict: override`. Other ports are compared with those of all containers when they are added.
const OVERRIDING_PORTS: &str = "ports with onConflict: override";

/// The name of `env` with a `fileKeyRef`.
const FILE_VARIABLES: &str = "env with fileKeyRef";

/// Fields that most containers have, and of which there is no check: the checks need not be searched for them.
const UNCHECKED: [&str; 4] = ["args", "command", "env", "name"];

fn checks() -> impl Iterator<Item = &'static FieldCheck> {
    [whole_pod::CHECKS, containers::CHECKS, profiles::CHECKS, resources::CHECKS, windows::CHECKS]
        .into_iter()
        .flatten()
}

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn verify_fields(&self) -> Result<(), Failure> {
        self.verify_pod()?;
        self.verify_injected()?;
        self.rule.blocks.iter().try_for_each(|block| self.verify_selected(block))
    }

    fn verify_pod(&self) -> Result<(), Failure> {
        let profiles = self.rule.metadata.iter().filter(|part| profiles::is_profile(&part.item.key));
        let volumes = self.rule.volumes.iter().find(|volume| overrides(volume));
        let volumes = volumes.map(|volume| ("volumes", &volume.clause));
        let related = related(written(profiles.chain(&self.rule.spec)).chain(volumes), |check| check.pod);
        if related.is_empty() {
            return Ok(());
        }
        let objects = self.objects();
        related.into_iter().try_for_each(|(check, clause)| objects.refuse(clause, check, None))
    }

    fn verify_injected(&self) -> Result<(), Failure> {
        let objects = LazyCell::new(|| self.objects());
        // Each of these checks is made once: it looks at all containers.
        let mut of_pod = Vec::new();
        for Injected { item, list, .. } in &self.rule.injected {
            let members = item.overlay.members().iter();
            let fields = members.filter_map(|member| self.related_field(item, &member.name));
            let mut related = related(fields.map(|field| (field, &item.clause)), |check| check.container);
            related.retain(|(check, _)| !is_among(&of_pod, check));
            if related.is_empty() {
                continue;
            }
            let Some(view) = self.container(&self.draft.layout.list(list), &item.key) else { continue };
            // A container that the rule kept was not changed, so the rule is not to blame for its fields.
            if !self.draft.known.has_as_added(item) && !holds(view, item, list, self.draft.shape.container) {
                continue;
            }
            let container = Container { view, is_init: *list == "initContainers" };
            for (check, clause) in &related {
                objects.refuse(clause, check, Some(container))?;
            }
            of_pod.extend(related.into_iter().filter(|(check, _)| check.is_of_pod()));
        }
        Ok(())
    }

    /// The name of the field `name` of the injected container `item` in the checks, unless it can break none.
    fn related_field(&self, item: &'r Item, name: &'r str) -> Option<&'r str> {
        let has_propagation = || item.overlay.items_of("volumeMounts").iter().any(has_propagation);
        match name {
            "env" if item.overlay.items_of("env").iter().any(has_file) => Some(FILE_VARIABLES),
            _ if UNCHECKED.contains(&name) => None,
            // A host process container runs on Windows only. Its pod should say so, and a rule for Linux does not match it then.
            "image" if self.rule.matching.os == Some("linux") => None,
            "ports" if overrides(item) => Some(OVERRIDING_PORTS),
            "volumeMounts" if has_propagation() => Some(name),
            "volumeMounts" => overrides(item).then_some(OVERRIDING_MOUNTS),
            _ => Some(name),
        }
    }

    fn verify_selected(&self, block: &'r Block) -> Result<(), Failure> {
        let lists =
            block.lists.iter().filter_map(|list| Some((related_name(list), &list.items.first()?.clause)));
        let related = related(lists.chain(written(block.parts.iter())), |check| check.container);
        if related.is_empty() {
            return Ok(());
        }
        let selected = self.selected(&block.select);
        let views = selected.iter().filter_map(|(place, _)| {
            let view = self.draft.at(place)?;
            Some(Container { view, is_init: place.as_str().contains("/initContainers/") })
        });
        let selected: Vec<Container<'_>> = views.collect();
        let objects = self.objects();
        for (check, clause) in related {
            for container in &selected {
                objects.refuse(clause, check, Some(*container))?;
                if check.is_of_pod() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn objects(&self) -> Objects<'_> {
        let layout = self.draft.layout;
        Objects {
            changed: Pod::of(self.draft.root(), layout),
            received: Pod::of(self.draft.received(), layout),
        }
    }
}

/// The pod as the rules have changed it, and as it was received.
struct Objects<'d> {
    changed: Option<Pod<'d>>,
    received: Option<Pod<'d>>,
}

impl Objects<'_> {
    /// Fails with the error in `container`, or in the pod and all of its containers. An error that the received object has too is not
    /// the rule's: the API server may accept it, in an update or in its version.
    fn refuse(
        &self,
        clause: &Clause,
        check: &FieldCheck,
        container: Option<Container<'_>>,
    ) -> Result<(), Failure> {
        let container = container.filter(|_| !check.is_of_pod());
        let Some(changed) = &self.changed else { return Ok(()) };
        let Some(sentence) = check.error(changed, container) else { return Ok(()) };
        let was_there = self.received.as_ref().is_some_and(|pod| match container {
            None => check.error(pod, None).is_some(),
            Some(container) => {
                pod.same(container).is_some_and(|container| check.error(pod, Some(container)).is_some())
            }
        });
        if was_there { Ok(()) } else { Err(invalid(clause, sentence)) }
    }
}

/// The checks of which one of `fields` can break the result, each once. `of` are the fields of a check.
fn related<'r>(
    fields: impl Iterator<Item = (&'r str, &'r Clause)>,
    of: fn(&FieldCheck) -> &'static [&'static str],
) -> Vec<(&'static FieldCheck, &'r Clause)> {
    let mut related = Vec::new();
    for (field, clause) in fields {
        for check in checks().filter(|check| of(check).contains(&field)) {
            if !is_among(&related, check) {
                related.push((check, clause));
            }
        }
    }
    related
}

fn is_among(related: &[(&FieldCheck, &Clause)], check: &FieldCheck) -> bool {
    related.iter().any(|(other, _)| std::ptr::eq(*other, check))
}

/// The fields that `parts` write, with the first part of each. The parts of a field follow each other.
fn written<'r>(parts: impl Iterator<Item = &'r Part>) -> impl Iterator<Item = (&'r str, &'r Clause)> {
    let field = |part: &'r Part| part.path.first().unwrap_or(&part.item.key).as_str();
    let mut last = None;
    parts
        .map(move |part| (field(part), &part.item.clause))
        .filter(move |(field, _)| last.replace(*field) != Some(field))
}

/// The name of a list in the checks.
fn related_name(list: &BlockList) -> &'static str {
    match list.member {
        "env" if list.items.iter().any(|item| has_file(&item.overlay)) => FILE_VARIABLES,
        "volumeMounts" if list.items.iter().any(|item| has_propagation(&item.overlay)) => "volumeMounts",
        "volumeMounts" if list.items.iter().any(overrides) => OVERRIDING_MOUNTS,
        "volumeMounts" => PLAIN_MOUNTS,
        "ports" if list.items.iter().any(overrides) => OVERRIDING_PORTS,
        member => member,
    }
}

fn has_propagation(mount: &Overlay) -> bool {
    mount.get("mountPropagation").is_some()
}

fn has_file(variable: &Overlay) -> bool {
    variable.get("valueFrom").is_some_and(|source| source.get("fileKeyRef").is_some())
}

fn overrides(item: &Item) -> bool {
    item.on_conflict == OnConflict::Override
}

impl FieldCheck {
    const fn of_pod(pod: &'static [&'static str], error: fn(&Pod<'_>) -> Option<String>) -> Self {
        Self { pod, container: &[], error: CheckError::OfPod(error) }
    }

    const fn of_container(
        pod: &'static [&'static str],
        container: &'static [&'static str],
        error: fn(&Pod<'_>, Container<'_>) -> Option<String>,
    ) -> Self {
        Self { pod, container, error: CheckError::OfContainer(error) }
    }

    /// A check of the pod that fields of containers can break too.
    const fn with_container(self, container: &'static [&'static str]) -> Self {
        Self { container, ..self }
    }

    fn is_of_pod(&self) -> bool {
        matches!(self.error, CheckError::OfPod(_))
    }

    /// The error in `container`, or without one in the pod and all of its containers.
    fn error(&self, pod: &Pod<'_>, container: Option<Container<'_>>) -> Option<String> {
        let error = match self.error {
            CheckError::OfPod(error) => return error(pod),
            CheckError::OfContainer(error) => error,
        };
        let named = |container: Container<'_>| {
            let sentence = error(pod, container)?;
            let name = container.name().unwrap_or_default();
            Some(format!("container `{}`: {sentence}", printable_short(&name)))
        };
        container.map_or_else(|| pod.containers().find_map(named), named)
    }
}

#[cfg(test)]
mod tests {
    use super::{UNCHECKED, checks};

    #[test]
    fn no_check_is_of_an_unchecked_field() {
        assert!(checks().all(|check| check.container.iter().all(|field| !UNCHECKED.contains(field))));
    }
}
