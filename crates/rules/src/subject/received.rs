//! The members of the received object that selection and parameters read. Each is looked up once for all rules.

use std::borrow::Cow;
use std::cell::OnceCell;

use vestibule_patch::{Kind, View};

use super::ownership::{Owner, Ownership};
use super::{Layout, Subject, string_member};
use crate::rule::resource::{MetadataOf, Resource};

/// The received object, before any rule changes it.
pub(crate) struct Received<'d> {
    resource: Resource,
    /// The name in the request.
    name: &'d str,
    metadata: Option<View<'d>>,
    deletion_timestamp: Option<View<'d>>,
    /// The pod's specification: in a workload, that of its pod template.
    spec: Option<View<'d>>,
    /// The values of [`SPEC_FIELDS`].
    spec_fields: OnceCell<[Option<View<'d>>; SPEC_FIELDS.len()]>,
    /// The labels and annotations of the object.
    own: ObjectMetadata<'d>,
    /// The labels and annotations of the pod template, if the object is a workload.
    template: Option<ObjectMetadata<'d>>,
    os: OnceCell<Option<Cow<'d, str>>>,
    runs_to_completion: OnceCell<bool>,
    ownership: OnceCell<Ownership<'d>>,
    owner: OnceCell<Option<Owner>>,
    workload: OnceCell<Option<Owner>>,
}

/// The members of the pod's specification that checks read.
const SPEC_FIELDS: [&str; 7] =
    ["containers", "initContainers", "volumes", "os", "nodeSelector", "hostNetwork", "restartPolicy"];

/// Labels and annotations.
pub(crate) struct ObjectMetadata<'d> {
    labels: StringMap<'d>,
    annotations: StringMap<'d>,
}

/// The string members of a map, sorted by key.
#[derive(Default)]
pub(crate) struct StringMap<'d>(Vec<(Cow<'d, str>, Cow<'d, str>)>);

impl<'d> Received<'d> {
    pub(crate) fn new(object: View<'d>, subject: &Subject<'d>, layout: &Layout) -> Self {
        let [metadata, spec] = object.select(["metadata", "spec"]);
        let names = ["labels", "annotations", "deletionTimestamp"];
        let [labels, annotations, deletion_timestamp] =
            metadata.map(|metadata| metadata.select(names)).unwrap_or_default();
        let template = || {
            let metadata = object.pointer(&layout.metadata);
            let [labels, annotations] =
                metadata.map(|metadata| metadata.select(["labels", "annotations"])).unwrap_or_default();
            ObjectMetadata::of(labels, annotations)
        };
        Self {
            resource: subject.resource,
            name: subject.name,
            metadata,
            own: ObjectMetadata::of(labels, annotations),
            template: (!layout.pod.is_root()).then(template),
            deletion_timestamp,
            spec: if layout.pod.is_root() { spec } else { object.pointer(&layout.spec) },
            spec_fields: OnceCell::new(),
            os: OnceCell::new(),
            runs_to_completion: OnceCell::new(),
            ownership: OnceCell::new(),
            owner: OnceCell::new(),
            workload: OnceCell::new(),
        }
    }

    /// The labels and annotations of the pod, or of what `of` names for a workload.
    pub(crate) fn metadata(&self, of: MetadataOf) -> &ObjectMetadata<'d> {
        match of {
            MetadataOf::PodTemplate => self.template.as_ref().unwrap_or(&self.own),
            MetadataOf::Workload => &self.own,
        }
    }

    /// The words for what has the labels and annotations of [`metadata`](Self::metadata).
    pub(crate) fn described(&self, of: MetadataOf) -> &'static str {
        if self.template.is_some() && of == MetadataOf::PodTemplate {
            "the pod template"
        } else {
            "the object"
        }
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some_and(|time| !time.is_null())
    }

    /// Why rules cannot add to the pod: `spec` or one of its lists has the wrong type.
    pub(crate) fn type_error(&self) -> Option<&'static str> {
        if self.spec.is_some_and(|spec| !matches!(spec.kind(), Kind::Object | Kind::Null)) {
            return Some("`spec` is not a map");
        }
        let is_list =
            |name| self.spec_field(name).is_none_or(|list| matches!(list.kind(), Kind::Array | Kind::Null));
        let lists = [
            ("containers", "`spec.containers` is not a list"),
            ("initContainers", "`spec.initContainers` is not a list"),
            ("volumes", "`spec.volumes` is not a list"),
        ];
        lists.into_iter().find(|(name, _)| !is_list(name)).map(|(_, sentence)| sentence)
    }

    /// The operating system that the pod names in `os` or in its node selector.
    pub(crate) fn os(&self) -> Option<&str> {
        let selected = |name| string_member(self.spec_field("nodeSelector"), name);
        let find = || {
            string_member(self.spec_field("os"), "name")
                .or_else(|| selected("kubernetes.io/os"))
                .or_else(|| selected("beta.kubernetes.io/os"))
        };
        self.os.get_or_init(find).as_deref()
    }

    pub(crate) fn host_network(&self) -> bool {
        self.spec_field("hostNetwork").and_then(View::as_bool).unwrap_or_default()
    }

    /// Whether all containers of the pod have to end: it belongs to a Job, or its restart policy is not `Always`.
    pub(crate) fn runs_to_completion(&self) -> bool {
        *self.runs_to_completion.get_or_init(|| {
            let policy = self.spec_field("restartPolicy").and_then(View::as_str);
            policy.is_some_and(|policy| policy != "Always") || self.ownership().is_owned_by_job()
        })
    }

    /// The owner that controls the object; an object has one at most.
    pub(crate) fn owner(&self) -> Option<&Owner> {
        self.owner.get_or_init(|| self.ownership().controller()).as_ref()
    }

    /// The workload that the object belongs to; see [`Ownership::workload`].
    pub(crate) fn workload(&self) -> Option<&Owner> {
        self.workload.get_or_init(|| self.ownership().workload(self.owner())).as_ref()
    }

    fn ownership(&self) -> &Ownership<'d> {
        self.ownership.get_or_init(|| Ownership::of(self.resource, self.name, self.metadata))
    }

    /// One of [`SPEC_FIELDS`].
    fn spec_field(&self, name: &str) -> Option<View<'d>> {
        let select = || self.spec.map(|spec| spec.select(SPEC_FIELDS)).unwrap_or_default();
        let index = SPEC_FIELDS.iter().position(|field| *field == name)?;
        self.spec_fields.get_or_init(select).get(index).copied().flatten()
    }
}

impl<'d> ObjectMetadata<'d> {
    fn of(labels: Option<View<'d>>, annotations: Option<View<'d>>) -> Self {
        Self { labels: StringMap::of(labels), annotations: StringMap::of(annotations) }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key)
    }

    /// The annotations whose keys begin with `prefix`, sorted.
    pub(crate) fn annotations_from<'p>(
        &self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&str, &str)> + use<'_, 'p, 'd> {
        self.annotations.from(prefix).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The keys of all labels and annotations.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.labels.keys().chain(self.annotations.keys())
    }
}

impl<'d> StringMap<'d> {
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

    /// The entries from `key` on.
    fn from(&self, key: &str) -> impl Iterator<Item = (&str, &str)> + use<'_, 'd> {
        let first = self.0.partition_point(|(name, _)| **name < *key);
        self.0.iter().skip(first).map(|(key, value)| (&**key, &**value))
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }
}
