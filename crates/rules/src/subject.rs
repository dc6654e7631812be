//! The object and the request that rules decide about ([`Subject`]), and the pointers to the pod in each kind of object
//! ([`Layout`]).

mod ownership;
mod received;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use vestibule_patch::{Document, DocumentError, Pointer, View};

use crate::rule::resource::{Resource, Verb};
use crate::well_known::STATUS_ANNOTATION;
pub(crate) use ownership::{HASH_LABEL, Ownership, is_of_controllers};
pub(crate) use received::{ObjectMetadata, Received};

/// The object of an admission request and the facts about the request. No `Debug`: the object may hold secrets.
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
pub struct Subject<'a> {
    /// The object as received, JSON.
    pub object: &'a str,
    /// The resource of the object.
    pub(crate) resource: Resource,
    /// The operation of the request.
    pub(crate) verb: Verb,
    /// The namespace of the request.
    pub(crate) namespace: &'a str,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The name in the request; empty if the API server is to generate one.
    pub(crate) name: &'a str,
    /// The labels and annotations of the namespace, if they are known.
    pub(crate) facts: Option<&'a NamespaceFacts>,
    /// The object as stored in the cluster, JSON.
    pub(crate) old_object: Option<&'a str>,
    /// The `userInfo` of the request, JSON.
    pub(crate) user: Option<&'a str>,
    /// Whether the request is a dry run, so that nothing will be stored.
    pub(crate) dry_run: bool,
    /// Whether the owner's name in the object is a placeholder for a name that is not known yet.
    pub(crate) presumed_owner: bool,
    document: Option<&'a Document<'a>>,
}

impl<'a> Subject<'a> {
    /// A request: the `object` as received, JSON, its resource, the operation, and the namespace of the request, because that
    /// of the object is often empty (kubernetes/kubernetes#113952).
    pub fn new(object: &'a str, resource: Resource, verb: Verb, namespace: &'a str) -> Self {
        Self {
            object,
            resource,
            verb,
            namespace,
            subresource: "",
            name: "",
            facts: None,
            old_object: None,
            user: None,
            dry_run: false,
            presumed_owner: false,
            document: None,
        }
    }

    /// The object as the caller has parsed it already, so that it is not parsed twice.
    ///
    /// ```
    /// use vestibule_patch::Document;
    /// use vestibule_rules::{Resource, RuleSet, Subject, Verb};
    ///
    /// let text = r#"{"metadata":{"name":"web"},"spec":{"containers":[]}}"#;
    /// let document = Document::parse(text)?;
    /// let subject = Subject::new(text, Resource::Pods, Verb::Create, "blue").document(&document);
    /// let decision = RuleSet::default().evaluate(&subject)?;
    /// assert!(decision.patch().was_carried_out_on(&document));
    /// # Ok::<(), vestibule_patch::DocumentError>(())
    /// ```
    #[must_use]
    pub fn document(self, document: &'a Document<'a>) -> Self {
        Self { document: Some(document), ..self }
    }

    /// The parsed object: the caller's, if it is of the same text.
    pub(crate) fn read(&self) -> Result<Document<'a>, DocumentError> {
        match self.document.filter(|document| document.is_of(self.object)) {
            Some(document) => Ok(document.clone()),
            None => Document::parse(self.object),
        }
    }

    /// Replaces the object of the request.
    #[must_use]
    pub fn object(self, object: &'a str) -> Self {
        Self { object, ..self }
    }

    /// The resource of the object.
    #[must_use]
    pub fn resource(self, resource: Resource) -> Self {
        Self { resource, ..self }
    }

    /// The operation of the request.
    #[must_use]
    pub fn verb(self, verb: Verb) -> Self {
        Self { verb, ..self }
    }

    /// The namespace of the request.
    #[must_use]
    pub fn namespace(self, namespace: &'a str) -> Self {
        Self { namespace, ..self }
    }

    /// The labels and annotations of that namespace; a review does not carry them.
    #[must_use]
    pub fn facts(self, facts: impl Into<Option<&'a NamespaceFacts>>) -> Self {
        Self { facts: facts.into(), ..self }
    }

    /// The subresource; empty, which is the default, for the object itself.
    #[must_use]
    pub fn subresource(self, subresource: &'a str) -> Self {
        Self { subresource, ..self }
    }

    /// The name in the request; empty, which is the default, if the API server is to generate one.
    #[must_use]
    pub fn name(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The object as stored in the cluster, JSON, if there is one.
    #[must_use]
    pub fn old_object(self, old_object: Option<&'a str>) -> Self {
        Self { old_object, ..self }
    }

    /// The user of the request: its `userInfo`, JSON.
    #[must_use]
    pub fn user(self, user: Option<&'a str>) -> Self {
        Self { user, ..self }
    }

    /// Whether the request is a dry run, so that nothing will be stored.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Whether the owner's name in the object is a placeholder for a name that is not known yet, as in a pod made from a
    /// template. An [explanation](crate::Explanation) then says which gates depend on the name.
    #[must_use]
    pub fn presumed_owner(self, presumed_owner: bool) -> Self {
        Self { presumed_owner, ..self }
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

/// Pointers to the pod, or the pod template, of an object.
pub(crate) struct Layout {
    /// The pod itself, or the pod template.
    pub(crate) pod: Pointer,
    pub(crate) metadata: Pointer,
    pub(crate) annotations: Pointer,
    /// The status annotation.
    pub(crate) status: Pointer,
    pub(crate) spec: Pointer,
    /// The pointers of [`POD_LISTS`].
    lists: [Pointer; POD_LISTS.len()],
    /// The label selector by which a workload finds the pods of its template.
    pub(crate) selector: Option<Pointer>,
    /// Whether the pods of a workload run to completion. `None` for a pod of its own, which may or may not.
    pub(crate) completes: Option<bool>,
}

/// The lists of a pod's specification whose pointers are made once.
const POD_LISTS: [&str; 4] = ["containers", "initContainers", "ephemeralContainers", "volumes"];

static OF_PODS: LazyLock<Layout> = LazyLock::new(|| Layout::new(Pointer::root(), None, None));

static OF_WORKLOADS: LazyLock<Layout> =
    LazyLock::new(|| Layout::within(&Pointer::root().child("spec"), false));

static OF_JOBS: LazyLock<Layout> = LazyLock::new(|| Layout::within(&Pointer::root().child("spec"), true));

static OF_CRON_JOBS: LazyLock<Layout> = LazyLock::new(|| {
    let job = Pointer::root().child("spec").child("jobTemplate");
    Layout::within(&job.child("spec"), true)
});

impl Layout {
    pub(crate) fn of(resource: Resource) -> &'static Self {
        match resource {
            Resource::Pods => &OF_PODS,
            Resource::CronJobs => &OF_CRON_JOBS,
            Resource::Deployments | Resource::StatefulSets | Resource::DaemonSets | Resource::ReplicaSets => {
                &OF_WORKLOADS
            }
            Resource::Jobs => &OF_JOBS,
        }
    }

    /// The layout of a workload whose specification stands at `spec`.
    fn within(spec: &Pointer, completes: bool) -> Self {
        Self::new(spec.child("template"), Some(spec.child("selector")), Some(completes))
    }

    fn new(pod: Pointer, selector: Option<Pointer>, completes: Option<bool>) -> Self {
        let (metadata, spec) = (pod.child("metadata"), pod.child("spec"));
        let lists = POD_LISTS.map(|name| spec.child(name));
        let annotations = metadata.child("annotations");
        Self {
            status: annotations.child(STATUS_ANNOTATION),
            annotations,
            pod,
            metadata,
            spec,
            lists,
            selector,
            completes,
        }
    }

    /// The list `name` of the specification.
    pub(crate) fn list(&self, name: &str) -> Cow<'_, Pointer> {
        let mut known = POD_LISTS.iter().zip(&self.lists);
        let found = known.find(|(known, _)| **known == name);
        found.map_or_else(|| Cow::Owned(self.spec.child(name)), |(_, list)| Cow::Borrowed(list))
    }
}

/// The member `name` of `object`, if it is a string.
pub(crate) fn string_member<'d>(object: impl Into<Option<View<'d>>>, name: &str) -> Option<Cow<'d, str>> {
    object.into()?.get(name)?.as_str()
}

/// Whether an init container runs beside the containers that start after it, instead of ending before them.
pub(crate) fn is_native_sidecar(init_container: View<'_>) -> bool {
    string_member(init_container, "restartPolicy").as_deref() == Some("Always")
}

/// A container and its name.
pub(crate) struct NamedContainer<'d> {
    /// Empty if the container has no name.
    pub(crate) name: Cow<'d, str>,
    pub(crate) view: View<'d>,
}

impl<'d> NamedContainer<'d> {
    /// The containers of `list`.
    pub(crate) fn all(list: Option<View<'d>>) -> Vec<Self> {
        let items = list.into_iter().flat_map(View::iter);
        items.map(|view| Self { name: string_member(view, "name").unwrap_or_default(), view }).collect()
    }
}
