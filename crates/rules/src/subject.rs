//! What rules look at.

use std::collections::BTreeMap;

use vestibule_patch::{Pointer, View};

use crate::rule::{Resource, Verb};

/// An object on its way into the cluster, and what is known about the request. No `Debug`: it may hold secrets.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The object as received, JSON.
    pub object: &'a str,
    /// What it is.
    pub resource: Resource,
    /// What is being done to it.
    pub verb: Verb,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The namespace of the request: the object's own is often empty (kubernetes/kubernetes#113952).
    pub namespace: &'a str,
    /// What is known about that namespace; a review does not carry it.
    pub facts: Option<&'a NamespaceFacts>,
}

/// Labels and annotations of a namespace.
#[derive(Clone, Default)]
pub struct NamespaceFacts {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Where things stand in the object.
pub(crate) struct Layout {
    /// Above `metadata` and `spec` of the pod: the pod itself or the template.
    pub(crate) pod: Pointer,
    pub(crate) spec: Pointer,
}

impl Layout {
    pub(crate) fn of(resource: Resource) -> Self {
        let pod = match resource {
            Resource::Pods => Pointer::root(),
            Resource::Deployments => Pointer::root().child("spec").child("template"),
        };
        Self { spec: pod.child("spec"), pod }
    }
}

/// The object as received, opened where rules decide.
pub(crate) struct Received<'d> {
    pub(crate) object: View<'d>,
    pub(crate) labels: Option<View<'d>>,
    pub(crate) annotations: Option<View<'d>>,
    pub(crate) spec: Option<View<'d>>,
}

impl<'d> Received<'d> {
    pub(crate) fn new(object: View<'d>, layout: &Layout) -> Self {
        let metadata = object.get("metadata");
        Self {
            object,
            labels: metadata.and_then(|metadata| metadata.get("labels")),
            annotations: metadata.and_then(|metadata| metadata.get("annotations")),
            spec: object.pointer(&layout.spec),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<String> {
        text(self.labels, key)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<String> {
        text(self.annotations, key)
    }

    /// The operating system its containers are for, where the pod says so.
    pub(crate) fn os(&self) -> Option<String> {
        let spec = self.spec?;
        let selector = spec.get("nodeSelector");
        text(spec.get("os"), "name")
            .or_else(|| text(selector, "kubernetes.io/os"))
            .or_else(|| text(selector, "beta.kubernetes.io/os"))
    }

    pub(crate) fn host_network(&self) -> bool {
        let flag = self.spec.and_then(|spec| spec.get("hostNetwork"));
        flag.and_then(View::as_bool).unwrap_or_default()
    }

    /// Whether somebody waits for all of its containers to end.
    pub(crate) fn is_job(&self) -> bool {
        let policy = text(self.spec, "restartPolicy");
        let owners = self.object.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
        let owners = owners.map(View::items).unwrap_or_default();
        policy.is_some_and(|policy| policy != "Always")
            || owners.into_iter().any(|owner| text(Some(owner), "kind").as_deref() == Some("Job"))
    }
}

/// The text of the member `name`.
pub(crate) fn text(object: Option<View<'_>>, name: &str) -> Option<String> {
    object?.get(name)?.as_str().map(std::borrow::Cow::into_owned)
}
