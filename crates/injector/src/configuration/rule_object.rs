//! One object with a rule or settings: an Injection, InjectorSettings or a NamespacedInjection.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kube::api::ObjectMeta;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule_rules::{API_VERSION, CustomResource, MAX_NAMESPACED_BYTES};

use super::rule_source::RuleSource;

/// The reason of the condition `InForce` of rules of namespaces while the settings do not switch them on.
pub(crate) const SWITCHED_OFF: &str = "SwitchedOff";

/// An object with a document of the rule format. It may hold secrets, so `Debug` prints none of it.
#[derive(Deserialize)]
pub(crate) struct RuleObject<K> {
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
    #[serde(skip)]
    is_too_large: bool,
    /// Whether its `spec` was dropped because it is needed only for its status.
    #[serde(skip)]
    is_status_only: bool,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

/// One of the kinds of [`RuleObject`].
pub(crate) trait RuleKind: 'static {
    const RESOURCE: CustomResource;
    type Scope: 'static;
}

pub(crate) enum Injection {}

pub(crate) enum InjectorSettings {}

pub(crate) enum NamespacedInjection {}

/// An object as the last reload saw it.
#[derive(Clone)]
pub(crate) struct ObservedObject {
    pub(crate) resource: CustomResource,
    /// The namespace of a rule of a namespace.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) source: RuleSource,
    /// Whether `source` has no `spec` because the object was kept for its status alone: it is no rule.
    pub(crate) is_status_only: bool,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    /// Its status as it is stored.
    pub(crate) status: Value,
}

impl<K: RuleKind> RuleObject<K> {
    /// Drops the managed fields, and a `spec` that is too large: teams may store more than the injector has memory for.
    pub(super) fn slim(&mut self) {
        self.metadata.managed_fields = None;
        self.is_too_large = is_too_large(self.spec.as_deref());
        if self.is_too_large {
            self.spec = None;
        }
    }

    /// Drops what the status does not need.
    pub(super) fn keep_status(&mut self) {
        self.metadata.managed_fields = None;
        self.spec = None;
        self.is_status_only = true;
    }

    fn source(&self) -> RuleSource {
        let source =
            source(K::RESOURCE, self.metadata.namespace.as_deref(), &self.name_any(), self.spec.as_deref());
        if self.is_too_large { too_large(source.name) } else { source }
    }

    pub(crate) fn observed(&self) -> ObservedObject {
        let status = self.status.as_deref().and_then(|status| serde_json::from_str(status.get()).ok());
        ObservedObject {
            resource: K::RESOURCE,
            namespace: self.metadata.namespace.clone(),
            name: self.name_any(),
            source: self.source(),
            is_status_only: self.is_status_only,
            generation: self.metadata.generation.unwrap_or_default(),
            resource_version: self.metadata.resource_version.clone().unwrap_or_default(),
            status: status.unwrap_or_default(),
        }
    }
}

impl ObservedObject {
    /// Whether its status says that such rules are switched off.
    pub(super) fn is_off(&self) -> bool {
        let mut conditions = self.status["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| one["type"] == "InForce" && one["reason"] == SWITCHED_OFF)
    }

    /// The name of its rule.
    pub(crate) fn rule_name(&self) -> String {
        qualified(self.namespace.as_deref(), &self.name)
    }
}

/// `NAMESPACE/NAME`, or the name alone if the object has no namespace.
fn qualified(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The text of an object under the name that findings show. The status and the rest of the metadata are no rule.
pub(crate) fn source(
    resource: CustomResource,
    namespace: Option<&str>,
    name: &str,
    spec: Option<&RawValue>,
) -> RuleSource {
    let namespace = namespace.filter(|_| resource.is_namespaced());
    let source = resource.source(&qualified(namespace, name));
    if resource.is_namespaced() && is_too_large(spec) {
        return too_large(source);
    }
    let mut document =
        json!({"apiVersion": API_VERSION, "kind": resource.kind(), "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        document["metadata"]["namespace"] = namespace.into();
    }
    if let Some(spec) = spec.and_then(|spec| serde_json::from_str::<Value>(spec.get()).ok()) {
        document["spec"] = spec;
    }
    RuleSource::new(source, document.to_string())
}

/// Whether a rule of a namespace with this `spec` is refused before it is read.
fn is_too_large(spec: Option<&RawValue>) -> bool {
    spec.is_some_and(|spec| spec.get().len() > MAX_NAMESPACED_BYTES)
}

fn too_large(name: String) -> RuleSource {
    RuleSource { name, text: Err(format!("its `spec` takes more than {MAX_NAMESPACED_BYTES} bytes")) }
}

/// The `spec` of an object.
pub(crate) fn spec(object: &RawValue) -> serde_json::Result<Option<Box<RawValue>>> {
    #[derive(Deserialize)]
    struct Specified {
        spec: Option<Box<RawValue>>,
    }
    serde_json::from_str::<Specified>(object.get()).map(|object| object.spec)
}

impl RuleKind for Injection {
    const RESOURCE: CustomResource = CustomResource::Injection;
    type Scope = ClusterResourceScope;
}

impl RuleKind for InjectorSettings {
    const RESOURCE: CustomResource = CustomResource::InjectorSettings;
    type Scope = ClusterResourceScope;
}

impl RuleKind for NamespacedInjection {
    const RESOURCE: CustomResource = CustomResource::NamespacedInjection;
    type Scope = NamespaceResourceScope;
}

impl<K> Clone for RuleObject<K> {
    fn clone(&self) -> Self {
        let (metadata, spec, status) = (self.metadata.clone(), self.spec.clone(), self.status.clone());
        let Self { is_too_large, is_status_only, .. } = *self;
        Self { metadata, spec, status, is_too_large, is_status_only, kind: PhantomData }
    }
}

impl<K> fmt::Debug for RuleObject<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }
}

impl<K: RuleKind> Resource for RuleObject<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::RESOURCE.kind().into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        API_VERSION.split_once('/').map_or("", |(group, _)| group).into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        API_VERSION.split_once('/').map_or("", |(_, version)| version).into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::RESOURCE.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::{Injection, RuleObject};

    /// The watch and the answer to a status write keep the `spec` as text, because a tree of values has at most 127 levels.
    #[test]
    fn a_spec_with_many_levels_is_read() {
        let spec = "[".repeat(300) + &"]".repeat(300);
        let text = format!(r#"{{"metadata": {{"name": "deep"}}, "spec": {{"x": {spec}}}}}"#);
        let object: RuleObject<Injection> = serde_json::from_str(&text).unwrap();
        assert!(object.spec.is_some_and(|read| read.get().contains(&spec)));
    }
}
