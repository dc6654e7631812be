//! What rules look at.

use std::collections::BTreeMap;

use vestibule_patch::{Pointer, View};

use crate::rule::{Resource, Verb};

/// An object on its way into the cluster, and what is known about the request. No `Debug`: it may hold secrets.
///
/// ```
/// use vestibule_rules::{NamespaceFacts, Resource, Subject, Verb};
///
/// let facts = NamespaceFacts::default();
/// let subject = Subject::new(r#"{"metadata":{"generateName":"web-"}}"#, Resource::Pods, Verb::Create, "blue")
///     .facts(&facts)
///     .dry_run(true);
/// # let _ = subject;
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The object as received, JSON.
    pub object: &'a str,
    /// What it is.
    pub resource: Resource,
    /// What is being done to it.
    pub verb: Verb,
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The name in the request; empty where the API server is to make one up.
    pub name: &'a str,
    /// What is known about the namespace.
    pub facts: Option<&'a NamespaceFacts>,
    /// The object as it stands in the cluster, JSON.
    pub old_object: Option<&'a str>,
    /// The `userInfo` of the request, JSON.
    pub user: Option<&'a str>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

impl<'a> Subject<'a> {
    /// The `object` as received, JSON, and what is being done to it in which namespace: that of the request, since the
    /// object's own is often empty (kubernetes/kubernetes#113952).
    pub fn new(object: &'a str, resource: Resource, verb: Verb, namespace: &'a str) -> Self {
        let (subresource, name) = ("", "");
        let (facts, old_object, user) = (None, None, None);
        Self { object, resource, verb, namespace, subresource, name, facts, old_object, user, dry_run: false }
    }

    /// Another object in the same request.
    #[must_use]
    pub fn object(self, object: &'a str) -> Self {
        Self { object, ..self }
    }

    /// What the object is.
    #[must_use]
    pub fn resource(self, resource: Resource) -> Self {
        Self { resource, ..self }
    }

    /// What is being done to it.
    #[must_use]
    pub fn verb(self, verb: Verb) -> Self {
        Self { verb, ..self }
    }

    /// The namespace of the request.
    #[must_use]
    pub fn namespace(self, namespace: &'a str) -> Self {
        Self { namespace, ..self }
    }

    /// What is known about that namespace; a review does not carry it.
    #[must_use]
    pub fn facts(self, facts: impl Into<Option<&'a NamespaceFacts>>) -> Self {
        Self { facts: facts.into(), ..self }
    }

    /// The subresource; empty, which is the default, for the object itself.
    #[must_use]
    pub fn subresource(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }

    /// The name in the request; empty, which is the default, where the API server is to make one up.
    #[must_use]
    pub fn name(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The object as it stands in the cluster, JSON, where there is one.
    #[must_use]
    pub fn old_object(self, old_object: Option<&'a str>) -> Self {
        Self { old_object, ..self }
    }

    /// Who asks: the `userInfo` of the request, JSON.
    #[must_use]
    pub fn user(self, user: Option<&'a str>) -> Self {
        Self { user, ..self }
    }

    /// Whether nothing will be stored.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }
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
    /// By which labels a workload finds the pods of its template.
    pub(crate) selector: Option<Pointer>,
}

impl Layout {
    pub(crate) fn of(resource: Resource) -> Self {
        let spec = Pointer::root().child("spec");
        let (pod, selector) = match resource {
            Resource::Pods => (Pointer::root(), None),
            Resource::CronJobs => {
                let job = spec.child("jobTemplate").child("spec");
                (job.child("template"), Some(job.child("selector")))
            }
            Resource::Deployments
            | Resource::StatefulSets
            | Resource::DaemonSets
            | Resource::ReplicaSets
            | Resource::Jobs => (spec.child("template"), Some(spec.child("selector"))),
        };
        Self { spec: pod.child("spec"), pod, selector }
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

    /// Whether a controller keeps it as it wants it.
    pub(crate) fn is_controlled(&self) -> bool {
        let owners = self.object.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
        let owners = owners.map(View::items).unwrap_or_default();
        owners.into_iter().any(|owner| owner.get("controller").and_then(View::as_bool) == Some(true))
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
