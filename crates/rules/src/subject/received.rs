//! The object as received, opened where rules decide: once, however many rules ask.

use std::borrow::Cow;
use std::cell::OnceCell;

use vestibule_patch::{Kind, View};

use super::ownership::{Owner, Ownership};
use super::{Layout, Subject, written};
use crate::rule::Resource;

/// The object as received.
pub(crate) struct Received<'d> {
    resource: Resource,
    /// The name in the request.
    name: &'d str,
    metadata: Option<View<'d>>,
    leaving: Option<View<'d>>,
    /// Where the pod's specification stands.
    spec: Option<View<'d>>,
    of_spec: OnceCell<OfSpec<'d>>,
    labels: Texts<'d>,
    annotations: Texts<'d>,
    ownership: OnceCell<Ownership<'d>>,
    owner: OnceCell<Option<Owner>>,
    workload: OnceCell<Option<Owner>>,
}

/// Members of the pod's specification that rules ask for.
#[derive(Clone, Copy)]
struct OfSpec<'d> {
    containers: Option<View<'d>>,
    init_containers: Option<View<'d>>,
    volumes: Option<View<'d>>,
    os: Option<View<'d>>,
    node_selector: Option<View<'d>>,
    host_network: Option<View<'d>>,
    restart_policy: Option<View<'d>>,
}

/// A map of texts, sorted by key.
#[derive(Default)]
pub(crate) struct Texts<'d>(Vec<(Cow<'d, str>, Cow<'d, str>)>);

impl<'d> Received<'d> {
    pub(crate) fn new(object: View<'d>, subject: &Subject<'d>, layout: &Layout) -> Self {
        let [metadata, spec] = object.select(["metadata", "spec"]);
        let names = ["labels", "annotations", "deletionTimestamp"];
        let [labels, annotations, leaving] =
            metadata.map(|metadata| metadata.select(names)).unwrap_or_default();
        Self {
            resource: subject.resource,
            name: subject.name,
            metadata,
            labels: Texts::of(labels),
            annotations: Texts::of(annotations),
            leaving,
            spec: if layout.pod.is_root() { spec } else { object.pointer(&layout.spec) },
            of_spec: OnceCell::new(),
            ownership: OnceCell::new(),
            owner: OnceCell::new(),
            workload: OnceCell::new(),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key)
    }

    /// The keys of its labels and annotations.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.labels.keys().chain(self.annotations.keys())
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.is_some_and(|time| !time.is_null())
    }

    /// What has another shape than in any pod, so that nothing can be put into it.
    pub(crate) fn misshapen(&self) -> Option<&'static str> {
        if self.spec.is_some_and(|spec| !matches!(spec.kind(), Kind::Object | Kind::Null)) {
            return Some("`spec` is no map");
        }
        let OfSpec { containers, init_containers, volumes, .. } = self.of_spec();
        let other = |list: View<'_>| !matches!(list.kind(), Kind::Array | Kind::Null);
        let lists = [
            (containers, "`spec.containers` is no list"),
            (init_containers, "`spec.initContainers` is no list"),
            (volumes, "`spec.volumes` is no list"),
        ];
        lists.into_iter().find(|(list, _)| list.is_some_and(other)).map(|(_, sentence)| sentence)
    }

    /// The operating system its containers are for, where the pod says so.
    pub(crate) fn os(&self) -> Option<Cow<'d, str>> {
        let OfSpec { os, node_selector, .. } = self.of_spec();
        written(*os, "name")
            .or_else(|| written(*node_selector, "kubernetes.io/os"))
            .or_else(|| written(*node_selector, "beta.kubernetes.io/os"))
    }

    pub(crate) fn host_network(&self) -> bool {
        self.of_spec().host_network.and_then(View::as_bool).unwrap_or_default()
    }

    /// Whether somebody waits for all of its containers to end.
    pub(crate) fn is_job(&self) -> bool {
        let policy = self.of_spec().restart_policy.and_then(View::as_str);
        policy.is_some_and(|policy| policy != "Always") || self.ownership().is_of_job()
    }

    /// The owner that controls it; there is one at most.
    pub(crate) fn owner(&self) -> Option<&Owner> {
        self.owner.get_or_init(|| self.ownership().controller()).as_ref()
    }

    /// What people know it by: the owner, or the Deployment behind a ReplicaSet; a workload that nobody controls itself.
    pub(crate) fn workload(&self) -> Option<&Owner> {
        self.workload.get_or_init(|| self.ownership().workload(self.owner())).as_ref()
    }

    fn ownership(&self) -> &Ownership<'d> {
        self.ownership.get_or_init(|| Ownership::of(self.resource, self.name, self.metadata))
    }

    fn of_spec(&self) -> &OfSpec<'d> {
        self.of_spec.get_or_init(|| {
            let names = [
                "containers",
                "initContainers",
                "volumes",
                "os",
                "nodeSelector",
                "hostNetwork",
                "restartPolicy",
            ];
            let [containers, init_containers, volumes, os, node_selector, host_network, restart_policy] =
                self.spec.map(|spec| spec.select(names)).unwrap_or_default();
            OfSpec { containers, init_containers, volumes, os, node_selector, host_network, restart_policy }
        })
    }
}

impl<'d> Texts<'d> {
    fn of(map: Option<View<'d>>) -> Self {
        let entries = map.map(View::entries).unwrap_or_default().into_iter();
        let mut texts: Vec<_> = entries.filter_map(|(key, value)| Some((key, value.as_str()?))).collect();
        texts.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self(texts)
    }

    fn get(&self, key: &str) -> Option<&str> {
        let index = self.0.binary_search_by(|(name, _)| (**name).cmp(key)).ok()?;
        self.0.get(index).map(|(_, value)| &**value)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }
}
