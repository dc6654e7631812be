//! Whether a part may be added by a rule of a namespace: a list of what is allowed, and nothing else is.

use std::fmt;

use serde_json::Value;

use super::NamespacedBounds;
use crate::merge::DEFAULT_CONTAINER;
use crate::overlay::Overlay;
use crate::rule::{Base, Item, PartDestination};

/// The path of a field that a rule of a namespace may not add. It has names and no values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAllowed {
    field: String,
    cause: Cause,
}

#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// No settings allow it.
    Never,
    /// The settings do not list this word in `allowedParts`.
    Needs(&'static str),
    /// It is there already, or a rule of the cluster wrote it.
    Taken,
    /// It has access to the node, which a change of it would share.
    HasAccess,
}

pub(super) type Allowed = Result<(), NotAllowed>;

impl NotAllowed {
    pub(super) fn never(field: impl Into<String>) -> Self {
        Self { field: field.into(), cause: Cause::Never }
    }

    /// The rule would change what the pod has, or what a rule of the cluster wrote.
    pub(super) fn taken(field: impl Into<String>) -> Self {
        Self { field: field.into(), cause: Cause::Taken }
    }

    /// The pod or container of this field has access to the node.
    pub(super) fn has_access(field: impl Into<String>) -> Self {
        Self { field: field.into(), cause: Cause::HasAccess }
    }

    pub(crate) fn help(&self) -> String {
        match self.cause {
            Cause::Needs(word) => {
                format!("an administrator allows it by `{word}` in `namespacedInjections.allowedParts`")
            }
            Cause::Never | Cause::Taken | Cause::HasAccess => String::new(),
        }
    }
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        match self.cause {
            Cause::Never => write!(formatter, "a rule of a namespace may not add `{field}`"),
            Cause::Needs(word) => write!(
                formatter,
                "the InjectorSettings do not allow `{field}`: `allowedParts` has no `{word}`"
            ),
            Cause::HasAccess => write!(
                formatter,
                "a rule of a namespace may not change a pod with access to the node: `{field}`"
            ),
            Cause::Taken => {
                write!(formatter, "a rule of a namespace may not change `{field}`, which is there already")
            }
        }
    }
}

/// Whether `item` of a rule may be added, as far as its text shows. Expressions are checked when they have values.
pub(crate) fn part(destination: &PartDestination<'_>, item: &Item, bounds: &NamespacedBounds) -> Allowed {
    let value = json(&item.overlay);
    match (destination.base, destination.list) {
        (Base::Metadata, _) => bounds.key(destination.name(), &item.key),
        (Base::Spec, Some("volumes")) => bounds.volume(&value),
        (Base::Spec, Some(list)) => bounds.container(list, &value),
        (Base::Spec, None) if destination.is_item && destination.name() == "imagePullSecrets" => {
            bounds.pull_secret(&value)
        }
        (Base::Containers(..), Some("env")) => bounds.variable_of_existing(&value),
        (Base::Containers(..), Some("envFrom")) => bounds.source_of_existing(&value),
        (Base::Containers(..), Some("volumeMounts")) => bounds.mount_of_existing(&value),
        (Base::Containers(..), Some(list)) => Err(NotAllowed::never(format!("containers.{list}"))),
        (Base::Spec | Base::Containers(..), None) => {
            let mut steps: Vec<&str> = destination.path().collect();
            if !destination.is_item {
                steps.push(&item.key);
            }
            let base = if matches!(destination.base, Base::Spec) { "" } else { "containers." };
            Err(NotAllowed::never(format!("{base}{}", steps.join("."))))
        }
    }
}

/// The value as JSON, with null in the place of expressions.
// Recursion is bounded by the depth of the rule's document.
fn json(overlay: &Overlay) -> Value {
    match overlay {
        Overlay::Text(text) => Value::String(text.clone()),
        Overlay::Literal(literal) => serde_json::from_str(literal).unwrap_or_default(),
        Overlay::Expression(_) => Value::Null,
        Overlay::Loop(repeated) => json(&repeated.item),
        Overlay::List(items) => items.iter().map(json).collect(),
        Overlay::Map(members) => {
            members.iter().map(|member| (member.name.clone(), json(&member.value))).collect()
        }
    }
}

/// Fields of containers that any value may have.
const PLAIN: [&str; 12] = [
    "args",
    "command",
    "image",
    "imagePullPolicy",
    "name",
    "restartPolicy",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "workingDir",
];

/// In each of these functions a value that is null passes: in the text of a rule it is an expression, and in a pod it is absent.
impl NamespacedBounds {
    fn need(&self, word: &'static str, field: impl Into<String>) -> Allowed {
        match self.allowed.contains(&word) {
            true => Ok(()),
            false => Err(NotAllowed { field: field.into(), cause: Cause::Needs(word) }),
        }
    }

    /// A label or annotation. Keys of Kubernetes and of the injector decide how the cluster treats a pod.
    pub(super) fn key(&self, map: &str, key: &str) -> Allowed {
        let field = format!("metadata.{map}[{key}]");
        let domain = key.split_once('/').map_or("", |(domain, _)| domain).to_ascii_lowercase();
        let is_reserved = ["kubernetes.io", "k8s.io", group!()].iter().any(|owner| {
            domain.strip_suffix(*owner).is_some_and(|start| start.is_empty() || start.ends_with('.'))
        });
        match map {
            "annotations" if key == DEFAULT_CONTAINER => Ok(()),
            _ if is_reserved && domain != "app.kubernetes.io" => Err(NotAllowed::never(field)),
            "labels" => self.need("labels", field),
            "annotations" => self.need("annotations", field),
            _ => Err(NotAllowed::never(field)),
        }
    }

    /// A sidecar or an init container.
    pub(super) fn container(&self, list: &str, item: &Value) -> Allowed {
        let at = at(list, item);
        let lasts = list == "containers" || item["restartPolicy"] == "Always";
        match (list, lasts) {
            (_, true) => self.need("sidecars", &*at)?,
            ("initContainers", false) => self.need("initContainers", &*at)?,
            _ => return Err(NotAllowed::never(at)),
        }
        for (name, value) in members(&at, item)? {
            let at = format!("{at}.{name}");
            match name {
                _ if PLAIN.contains(&name) => {}
                // The kubelet would connect to the host, from the network of the node.
                "lifecycle" | "livenessProbe" | "readinessProbe" | "startupProbe" if !names_host(value) => {}
                "env" => items(&at, value)?.try_for_each(|item| self.variable(&at, item))?,
                "envFrom" => items(&at, value)?.try_for_each(|item| self.source(&at, item))?,
                "volumeMounts" => items(&at, value)?.try_for_each(|item| mount(&at, item))?,
                "ports" => items(&at, value)?
                    .try_for_each(|item| only(&at, item, &["containerPort", "name", "protocol"]))?,
                "resources" => {
                    only(&at, value, &["limits", "requests"])?;
                    // Other resources may be devices of the node.
                    members(&at, value)?.try_for_each(|(name, amounts)| {
                        only(&format!("{at}.{name}"), amounts, &["cpu", "ephemeral-storage", "memory"])
                    })?;
                }
                "securityContext" => security_context(&at, value)?,
                _ => return Err(NotAllowed::never(at)),
            }
        }
        Ok(())
    }

    pub(super) fn volume(&self, item: &Value) -> Allowed {
        let at = at("volumes", item);
        self.need("volumes", &*at)?;
        for (name, _) in members(&at, item)? {
            let field = format!("{at}.{name}");
            match name {
                "name" | "emptyDir" | "downwardAPI" => {}
                "configMap" => self.need("configMaps", field)?,
                "secret" => self.need("secrets", field)?,
                "persistentVolumeClaim" => self.need("persistentVolumeClaims", field)?,
                _ => return Err(NotAllowed::never(field)),
            }
        }
        Ok(())
    }

    pub(super) fn pull_secret(&self, item: &Value) -> Allowed {
        self.need("imagePullSecrets", "imagePullSecrets")?;
        only("imagePullSecrets", item, &["name"])
    }

    pub(super) fn variable_of_existing(&self, item: &Value) -> Allowed {
        self.need("env", at("containers.env", item))?;
        self.variable("containers.env", item)
    }

    pub(super) fn source_of_existing(&self, item: &Value) -> Allowed {
        self.need("env", "containers.envFrom")?;
        self.source("containers.envFrom", item)
    }

    pub(super) fn mount_of_existing(&self, item: &Value) -> Allowed {
        self.need("volumeMounts", at("containers.volumeMounts", item))?;
        mount("containers.volumeMounts", item)
    }

    fn variable(&self, at: &str, item: &Value) -> Allowed {
        only(at, item, &["name", "value", "valueFrom"])?;
        for (name, _) in members(at, &item["valueFrom"])? {
            let field = format!("{at}.valueFrom.{name}");
            match name {
                "fieldRef" | "resourceFieldRef" => {}
                "configMapKeyRef" => self.need("configMaps", field)?,
                "secretKeyRef" => self.need("secrets", field)?,
                _ => return Err(NotAllowed::never(field)),
            }
        }
        Ok(())
    }

    fn source(&self, at: &str, item: &Value) -> Allowed {
        for (name, _) in members(at, item)? {
            let field = format!("{at}.{name}");
            match name {
                "prefix" => {}
                "configMapRef" => self.need("configMaps", field)?,
                "secretRef" => self.need("secrets", field)?,
                _ => return Err(NotAllowed::never(field)),
            }
        }
        Ok(())
    }
}

fn mount(at: &str, item: &Value) -> Allowed {
    only(at, item, &["mountPath", "name", "readOnly", "subPath", "subPathExpr"])
}

/// Only what restricts a container.
fn security_context(at: &str, value: &Value) -> Allowed {
    for (name, value) in members(at, value)? {
        let field = format!("{at}.{name}");
        let restricts = match name {
            "allowPrivilegeEscalation" | "privileged" => *value == Value::Bool(false),
            "runAsNonRoot" | "readOnlyRootFilesystem" => *value == Value::Bool(true),
            "runAsGroup" | "runAsUser" => value.as_i64().is_some_and(|id| id > 0),
            "capabilities" => {
                only(&field, value, &["drop"])?;
                true
            }
            "seccompProfile" => {
                only(&field, value, &["type"])?;
                value["type"].is_null() || value["type"] == "RuntimeDefault"
            }
            _ => return Err(NotAllowed::never(field)),
        };
        if !restricts && !value.is_null() {
            return Err(NotAllowed::never(field));
        }
    }
    Ok(())
}

/// Whether a probe or hook names another host than the pod.
// Recursion is bounded by the depth that serde_json parses.
fn names_host(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, value)| name == "host" && !value.is_null() || names_host(value))
        }
        Value::Array(items) => items.iter().any(names_host),
        _ => false,
    }
}

/// Whether all members of `value` are among `names`.
fn only(at: &str, value: &Value, names: &[&str]) -> Allowed {
    match members(at, value)?.find(|(name, _)| !names.contains(name)) {
        Some((name, _)) => Err(NotAllowed::never(format!("{at}.{name}"))),
        None => Ok(()),
    }
}

/// The members of a map; none of null.
fn members<'v>(at: &str, value: &'v Value) -> Result<impl Iterator<Item = (&'v str, &'v Value)>, NotAllowed> {
    match value {
        Value::Object(_) | Value::Null => {
            let members = value.as_object().into_iter().flatten();
            Ok(members.map(|(name, value)| (name.as_str(), value)))
        }
        _ => Err(NotAllowed::never(at)),
    }
}

/// The items of a list; none of null.
fn items<'v>(at: &str, value: &'v Value) -> Result<std::slice::Iter<'v, Value>, NotAllowed> {
    match value {
        Value::Array(items) => Ok(items.iter()),
        Value::Null => Ok([].iter()),
        _ => Err(NotAllowed::never(at)),
    }
}

/// `volumes[cache]`.
pub(super) fn at(list: &str, item: &Value) -> String {
    match item["name"].as_str() {
        Some(name) => format!("{list}[{name}]"),
        None => list.to_owned(),
    }
}
