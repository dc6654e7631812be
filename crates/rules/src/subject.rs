//! What rules look at.

mod ownership;
mod received;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use vestibule_patch::{Document, DocumentError, Pointer, View};

use crate::rule::{Resource, Verb};
use crate::well_known::STATUS_ANNOTATION;
pub(crate) use ownership::{HASH_LABEL, Ownership};
pub(crate) use received::Received;

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
    /// Whether the name of the owner in the object only stands for one that nobody knows yet.
    pub presumed_owner: bool,
    document: Option<&'a Document<'a>>,
}

impl<'a> Subject<'a> {
    /// The `object` as received, JSON, and what is being done to it in which namespace: that of the request, since the
    /// object's own is often empty (kubernetes/kubernetes#113952).
    pub fn new(object: &'a str, resource: Resource, verb: Verb, namespace: &'a str) -> Self {
        let (subresource, name) = ("", "");
        let (facts, old_object, user) = (None, None, None);
        Self {
            object,
            resource,
            verb,
            namespace,
            subresource,
            name,
            facts,
            old_object,
            user,
            dry_run: false,
            presumed_owner: false,
            document: None,
        }
    }

    /// The object as somebody has read it already, so that nobody reads it twice.
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

    /// The object, read by whoever comes first.
    pub(crate) fn read(&self) -> Result<Document<'a>, DocumentError> {
        match self.document.filter(|document| document.is_of(self.object)) {
            Some(document) => Ok(document.clone()),
            None => Document::parse(self.object),
        }
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

    /// Whether the name of the owner in the object only stands for one that nobody knows yet, as where a template is asked
    /// about: an [explanation](crate::Explanation) then says which answers would be others by another name.
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

/// Where things stand in the object.
pub(crate) struct Layout {
    /// Above `metadata` and `spec` of the pod: the pod itself or the template.
    pub(crate) pod: Pointer,
    pub(crate) metadata: Pointer,
    pub(crate) annotations: Pointer,
    /// The annotation that says what was added.
    pub(crate) status: Pointer,
    pub(crate) spec: Pointer,
    /// Those of [`POD_LISTS`].
    lists: [Pointer; POD_LISTS.len()],
    /// By which labels a workload finds the pods of its template.
    pub(crate) selector: Option<Pointer>,
}

/// The lists of a pod's specification that rules look into again and again.
const POD_LISTS: [&str; 4] = ["containers", "initContainers", "ephemeralContainers", "volumes"];

static OF_PODS: LazyLock<Layout> = LazyLock::new(|| Layout::new(Pointer::root(), None));

static OF_WORKLOADS: LazyLock<Layout> = LazyLock::new(|| Layout::within(&Pointer::root().child("spec")));

static OF_CRON_JOBS: LazyLock<Layout> = LazyLock::new(|| {
    let job = Pointer::root().child("spec").child("jobTemplate");
    Layout::within(&job.child("spec"))
});

impl Layout {
    pub(crate) fn of(resource: Resource) -> &'static Self {
        match resource {
            Resource::Pods => &OF_PODS,
            Resource::CronJobs => &OF_CRON_JOBS,
            Resource::Deployments
            | Resource::StatefulSets
            | Resource::DaemonSets
            | Resource::ReplicaSets
            | Resource::Jobs => &OF_WORKLOADS,
        }
    }

    /// Of a workload whose specification stands at `spec`.
    fn within(spec: &Pointer) -> Self {
        Self::new(spec.child("template"), Some(spec.child("selector")))
    }

    fn new(pod: Pointer, selector: Option<Pointer>) -> Self {
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
        }
    }

    /// The list `name` of the specification.
    pub(crate) fn list(&self, name: &str) -> Cow<'_, Pointer> {
        let mut known = POD_LISTS.iter().zip(&self.lists);
        let found = known.find(|(known, _)| **known == name);
        found.map_or_else(|| Cow::Owned(self.spec.child(name)), |(_, list)| Cow::Borrowed(list))
    }
}

/// The text of the member `name`.
pub(crate) fn text(object: Option<View<'_>>, name: &str) -> Option<String> {
    written(object, name).map(Cow::into_owned)
}

/// The same, not copied if it needs not be.
pub(crate) fn written<'d>(object: Option<View<'d>>, name: &str) -> Option<Cow<'d, str>> {
    object?.get(name)?.as_str()
}

/// One of several things that have a name: a container.
pub(crate) struct Named<'d> {
    /// Empty where it has none.
    pub(crate) name: Cow<'d, str>,
    pub(crate) view: View<'d>,
}

impl<'d> Named<'d> {
    /// The items of `list`.
    pub(crate) fn all(list: Option<View<'d>>) -> Vec<Self> {
        let items = list.into_iter().flat_map(View::iter);
        items.map(|view| Self { name: written(Some(view), "name").unwrap_or_default(), view }).collect()
    }
}
