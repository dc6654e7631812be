//! Compares a pod before and after a rule of a namespace.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::allowed::{Allowed, NotAllowed, at};
use super::{NamespacedBounds, Protected, items, node};
use crate::key::trimmed_path;
use crate::pod::CONTAINER_LISTS;

/// Whether `after` has everything that `before` has, unchanged and in the same order, and besides only what `bounds` allow.
pub(crate) fn additions(
    before: &Value,
    after: &Value,
    protected: &Protected,
    bounds: &NamespacedBounds,
) -> Allowed {
    let comparison = Comparison { before, after, protected, bounds };
    unchanged("", map(before), map(after), &["metadata", "spec"])?;
    comparison.metadata(&before["metadata"], &after["metadata"])?;
    let (before, after) = (&before["spec"], &after["spec"]);
    let others = ["containers", "imagePullSecrets", "initContainers", "resources", "volumes"];
    unchanged("spec.", map(before), map(after), &others)?;
    // The merge removes requests of the pod that the API server derives again from its containers. No rule of a namespace writes one.
    unchanged("spec.resources.", map(&before["resources"]), map(&after["resources"]), &["requests"])?;
    for list in CONTAINER_LISTS {
        comparison.containers(list, items(&before[list]), items(&after[list]))?;
    }
    let whole = |list: &str, allowed: &dyn Fn(&Value) -> Allowed| {
        let (same, added) = aligned(list, items(&before[list]), items(&after[list]))?;
        if let Some((old, _)) = same.iter().find(|(old, new)| old != new) {
            return Err(NotAllowed::taken(at(list, old)));
        }
        added.into_iter().try_for_each(|(_, item)| allowed(item))
    };
    whole("volumes", &|item| bounds.volume(item))?;
    whole("imagePullSecrets", &|item| bounds.pull_secret(item))
}

struct Comparison<'c> {
    before: &'c Value,
    after: &'c Value,
    protected: &'c Protected,
    bounds: &'c NamespacedBounds,
}

impl Comparison<'_> {
    fn metadata(&self, before: &Value, after: &Value) -> Allowed {
        unchanged("metadata.", map(before), map(after), &["annotations", "labels"])?;
        for name in ["annotations", "labels"] {
            let (old, new) = (map(&before[name]), map(&after[name]));
            let added: Vec<&str> =
                new.keys().map(String::as_str).filter(|key| !old.contains_key(*key)).collect();
            unchanged(&format!("metadata.{name}."), old, new, &added)?;
            added.into_iter().try_for_each(|key| self.bounds.key(name, key))?;
        }
        Ok(())
    }

    fn containers(&self, list: &str, before: &[Value], after: &[Value]) -> Allowed {
        let is_protected =
            |item: &Value| item["name"].as_str().is_some_and(|name| self.protected.containers.contains(name));
        let (same, added) = aligned(list, before, after)?;
        if !added.is_empty() || same.iter().any(|(old, new)| old != new) {
            node::shared(&self.before["spec"])?;
        }
        let last = after.iter().rposition(is_protected);
        for (index, item) in added {
            if let Some(last) = last.filter(|last| index < *last) {
                return Err(NotAllowed::taken(format!("{list}[{last}]")));
            }
            if is_protected(item) {
                return Err(NotAllowed::taken(at(list, item)));
            }
            self.bounds.container(list, item)?;
            items(&item["volumeMounts"]).iter().try_for_each(|mount| self.mounted(mount))?;
        }
        for (old, new) in same.into_iter().filter(|(old, new)| old != new) {
            if is_protected(old) {
                return Err(NotAllowed::taken(at(list, old)));
            }
            if node::is_reached_by(old, &self.before["spec"]) {
                return Err(NotAllowed::has_access(at(list, old)));
            }
            self.container(&at(list, old), old, new)?;
        }
        Ok(())
    }

    /// A container that the pod has.
    fn container(&self, at: &str, old: &Value, new: &Value) -> Allowed {
        unchanged(&format!("{at}."), map(old), map(new), &["env", "envFrom", "volumeMounts"])?;
        let added = |list: &str| {
            let (old, new) = (items(&old[list]), items(&new[list]));
            inserted(old, new).ok_or_else(|| NotAllowed::taken(format!("{at}.{list}")))
        };
        for (_, variable) in added("env")? {
            self.bounds.variable_of_existing(variable)?;
            let name = variable["name"].as_str().unwrap_or_default();
            let may_be_a_source = self.protected.sources_of_variables && !items(&old["envFrom"]).is_empty();
            if may_be_a_source || reads(old, name) {
                return Err(NotAllowed::taken(format!("{at}.env[{name}]")));
            }
        }
        for (is_last, source) in added("envFrom")? {
            self.bounds.source_of_existing(source)?;
            // Of two sources of a variable the later one counts.
            if is_last {
                return Err(NotAllowed::taken(format!("{at}.envFrom")));
            }
        }
        for (_, mount) in added("volumeMounts")? {
            self.bounds.mount_of_existing(mount)?;
            self.mounted(mount)?;
            if items(&old["volumeMounts"]).iter().any(|other| overlap(other, mount)) {
                return Err(NotAllowed::taken(format!("{at}.volumeMounts")));
            }
        }
        Ok(())
    }

    /// Whether a rule of a namespace may mount the volume of `mount`. The kind of the volume must be allowed, also if the pod had the
    /// volume before.
    fn mounted(&self, mount: &Value) -> Allowed {
        let Some(name) = mount["name"].as_str() else { return Ok(()) };
        if self.protected.volumes.contains(name) {
            return Err(NotAllowed::taken(format!("volumes[{name}]")));
        }
        node::unused(&self.before["spec"], name)?;
        let volumes = items(&self.after["spec"]["volumes"]).iter();
        volumes.filter(|volume| volume["name"] == name).try_for_each(|volume| self.bounds.volume(volume))
    }
}

/// Whether the container defines the variable `name`, or a value or mount of it refers to the variable.
fn reads(container: &Value, name: &str) -> bool {
    let reference = format!("$({name})");
    let refers = |text: &Value| text.as_str().is_some_and(|text| text.contains(&reference));
    items(&container["env"]).iter().any(|one| one["name"] == name || refers(&one["value"]))
        || items(&container["volumeMounts"]).iter().any(|mount| refers(&mount["subPathExpr"]))
        || ["command", "args"].iter().any(|list| items(&container[*list]).iter().any(refers))
}

/// Whether one mount path contains the other.
fn overlap(one: &Value, other: &Value) -> bool {
    let path = |mount: &Value| format!("{}/", trimmed_path(mount["mountPath"].as_str().unwrap_or_default()));
    let (one, other) = (path(one), path(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// Members except `others` must be the same.
fn unchanged(at: &str, before: &Map<String, Value>, after: &Map<String, Value>, others: &[&str]) -> Allowed {
    for name in before.keys().chain(after.keys()).filter(|name| !others.contains(&name.as_str())) {
        match (before.get(name), after.get(name)) {
            (old, new) if old == new => {}
            (None, Some(_)) => return Err(NotAllowed::never(format!("{at}{name}"))),
            _ => return Err(NotAllowed::taken(format!("{at}{name}"))),
        }
    }
    Ok(())
}

/// The items of two lists that have the same name, in pairs, and the added items with their indexes.
type Aligned<'v> = (Vec<(&'v Value, &'v Value)>, Vec<(usize, &'v Value)>);

/// The named items of `after` beside those of `before`. All of the latter must be there, in their order.
fn aligned<'v>(list: &str, before: &'v [Value], after: &'v [Value]) -> Result<Aligned<'v>, NotAllowed> {
    let (mut same, mut added) = (Vec::new(), Vec::new());
    let mut rest = before.iter();
    let mut next = rest.next();
    for (index, item) in after.iter().enumerate() {
        match next {
            Some(old) if old["name"] == item["name"] => {
                same.push((old, item));
                next = rest.next();
            }
            _ => added.push((index, item)),
        }
    }
    match next {
        Some(old) => Err(NotAllowed::taken(at(list, old))),
        None => Ok((same, added)),
    }
}

/// The items that were inserted into `before`, each with whether it comes after all others; [`None`] if an item of `before` is
/// missing or changed.
fn inserted<'v>(before: &[Value], after: &'v [Value]) -> Option<Vec<(bool, &'v Value)>> {
    let mut rest = before.iter().peekable();
    let mut added = Vec::new();
    for item in after {
        if rest.peek() == Some(&item) {
            rest.next();
        } else {
            added.push((rest.peek().is_none() && !before.is_empty(), item));
        }
    }
    rest.peek().is_none().then_some(added)
}

/// The members of a map; none of any other value.
fn map(value: &Value) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.as_object().unwrap_or(&NONE)
}
