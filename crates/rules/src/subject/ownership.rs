//! The controller, the workload and the name of an object. `match`, `rollout`, conditions and expressions all read them here.

use std::borrow::Cow;

use vestibule_patch::View;

use super::string_member;
use crate::rule::resource::Resource;

/// The label by which a Deployment distinguishes its ReplicaSets.
pub(crate) const HASH_LABEL: &str = "pod-template-hash";

/// The other labels that controllers set on their pods. They find the pods by most of them.
const CONTROLLER_LABELS: [&str; 9] = [
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-generation",
    "statefulset.kubernetes.io/pod-name",
];

/// The annotation by which an indexed Job finds the pod of an index.
const INDEX_ANNOTATION: &str = "batch.kubernetes.io/job-completion-index";

/// Whether controllers set this label or annotation on their pods, and may find the pods by it.
pub(crate) fn is_of_controllers(map: &str, key: &str) -> bool {
    match map {
        "labels" => key == HASH_LABEL || CONTROLLER_LABELS.contains(&key),
        _ => key == INDEX_ANNOTATION,
    }
}

/// The members of an object from which its controller, workload and name are derived.
#[derive(Clone, Copy)]
pub(crate) struct Ownership<'d> {
    resource: Resource,
    /// The name in the request.
    requested: &'d str,
    labels: Option<View<'d>>,
    name: Option<View<'d>>,
    generate_name: Option<View<'d>>,
    owners: Option<View<'d>>,
}

/// A controller, or the workload behind it.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl<'d> Ownership<'d> {
    /// The ownership of an object with this `metadata`, which the request calls `requested`.
    pub(crate) fn of(resource: Resource, requested: &'d str, metadata: Option<View<'d>>) -> Self {
        let [labels, name, generate_name, owners] = metadata
            .map(|metadata| metadata.select(["labels", "name", "generateName", "ownerReferences"]))
            .unwrap_or_default();
        Self { resource, requested, labels, name, generate_name, owners }
    }

    /// The owner that controls the object; an object has one at most.
    pub(crate) fn controller(&self) -> Option<Owner> {
        let controls = |owner: &View<'_>| owner.get("controller").and_then(View::as_bool) == Some(true);
        let owner = self.owners().find(controls)?;
        let part = |name| string_member(owner, name).unwrap_or_default().into_owned();
        Some(Owner { kind: part("kind"), name: part("name"), uid: part("uid") })
    }

    /// The workload that the object belongs to: its controller, or the Deployment that controls the controlling ReplicaSet. A
    /// workload without a controller belongs to itself, unless its name is still to be generated. A pod without a controller
    /// has no workload.
    pub(crate) fn workload(&self, controller: Option<&Owner>) -> Option<Owner> {
        match controller {
            Some(owner) => Some(self.deployment(owner).unwrap_or_else(|| owner.clone())),
            None if self.resource == Resource::Pods => None,
            None => self.given_name().map(|name| self.as_owner(name)),
        }
    }

    /// The variable `owner` of expressions: the workload, or the object itself if it has none.
    pub(crate) fn owner(&self) -> Owner {
        self.workload(self.controller().as_ref()).unwrap_or_else(|| {
            let start = || self.generate_name_prefix().map(|start| start.trim_end_matches('-').to_owned());
            self.as_owner(self.given_name().or_else(start).unwrap_or_default())
        })
    }

    /// The name of the object for messages; stars stand for the suffix that the API server appends to `generateName`.
    pub(crate) fn display_name(&self) -> String {
        let made_up = || self.generate_name_prefix().map(|start| format!("{start}*****"));
        self.given_name().or_else(made_up).unwrap_or_default()
    }

    /// Whether a Job owns the object.
    pub(crate) fn is_owned_by_job(&self) -> bool {
        self.owners().any(|owner| string_member(owner, "kind").as_deref() == Some("Job"))
    }

    fn as_owner(&self, name: String) -> Owner {
        Owner { kind: self.resource.kind().to_owned(), name, uid: String::new() }
    }

    /// The name in the request, or the one in the object. If both are set, they are equal.
    fn given_name(&self) -> Option<String> {
        let own = || self.name.and_then(View::as_str).map(Cow::into_owned);
        Some(self.requested.to_owned())
            .filter(|name| !name.is_empty())
            .or_else(own)
            .filter(|name| !name.is_empty())
    }

    fn generate_name_prefix(&self) -> Option<String> {
        let start = self.generate_name.and_then(View::as_str)?;
        (!start.is_empty()).then(|| start.into_owned())
    }

    /// The Deployment that controls the ReplicaSet `owner`. A ReplicaSet's name is the Deployment's name and the hash in the label
    /// of its pods.
    fn deployment(&self, owner: &Owner) -> Option<Owner> {
        if owner.kind != "ReplicaSet" {
            return None;
        }
        let hash = string_member(self.labels, HASH_LABEL).filter(|hash| !hash.is_empty())?;
        let name = owner.name.strip_suffix(&*hash)?.strip_suffix('-').filter(|name| !name.is_empty())?;
        Some(Owner { kind: "Deployment".to_owned(), name: name.to_owned(), uid: owner.uid.clone() })
    }

    fn owners(&self) -> impl Iterator<Item = View<'d>> + use<'d> {
        self.owners.map(View::items).unwrap_or_default().into_iter()
    }
}
