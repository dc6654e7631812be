//! The resources that rules change, and the operations under which they do.

use strum::{IntoStaticStr, VariantArray};

/// A resource that rules change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
#[non_exhaustive]
pub enum Resource {
    /// Pods, when they are created.
    Pods,
    /// Deployments of `apps`, when they are created or updated: their pod template.
    Deployments,
    /// StatefulSets of `apps`: their pod template.
    StatefulSets,
    /// DaemonSets of `apps`: their pod template.
    DaemonSets,
    /// ReplicaSets of `apps` without a controller: their pod template. The template of a Deployment's ReplicaSet must
    /// stay equal to the Deployment's.
    ReplicaSets,
    /// Jobs of `batch`, when they are created: the pod template of an existing Job is immutable.
    Jobs,
    /// CronJobs of `batch`: the pod template of their jobs.
    CronJobs,
}

/// The object of a workload's request whose labels and annotations `match`, the opt-in and parameters read. For a pod both are
/// the pod itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetadataOf {
    /// The pod template.
    #[default]
    PodTemplate,
    /// The workload itself.
    Workload,
}

/// The operation of an admission request.
#[derive(Clone, Copy, Debug, IntoStaticStr, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Verb {
    /// `CREATE`.
    Create,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
    /// `CONNECT`.
    Connect,
}

impl Resource {
    /// All resources, pods first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The resource with this API group and plural name.
    ///
    /// ```
    /// use vestibule_rules::Resource;
    ///
    /// assert_eq!(Resource::of("batch", "cronjobs"), Some(Resource::CronJobs));
    /// assert_eq!(Resource::of("", "cronjobs"), None);
    /// ```
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|resource| resource.group() == group && resource.as_str() == plural)
    }

    /// The resource of the objects of a kind.
    ///
    /// ```
    /// use vestibule_rules::Resource;
    ///
    /// assert_eq!(Resource::of_kind("apps/v1", "StatefulSet"), Some(Resource::StatefulSets));
    /// assert_eq!(Resource::of_kind("apps/v1", "Pod"), None);
    /// ```
    pub fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let same = |one: &&Self| one.api_version() == api_version && one.kind() == kind;
        Self::ALL.iter().find(same).copied()
    }

    /// The `apiVersion` and the kind of its objects, and its plural name.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Pods => ("v1", "Pod", "pods"),
            Self::Deployments => ("apps/v1", "Deployment", "deployments"),
            Self::StatefulSets => ("apps/v1", "StatefulSet", "statefulsets"),
            Self::DaemonSets => ("apps/v1", "DaemonSet", "daemonsets"),
            Self::ReplicaSets => ("apps/v1", "ReplicaSet", "replicasets"),
            Self::Jobs => ("batch/v1", "Job", "jobs"),
            Self::CronJobs => ("batch/v1", "CronJob", "cronjobs"),
        }
    }

    /// The plural name in the API: `pods`.
    pub fn as_str(self) -> &'static str {
        self.names().2
    }

    /// The kind of its objects: `Pod`.
    pub fn kind(self) -> &'static str {
        self.names().1
    }

    /// Its API group; empty for pods.
    pub fn group(self) -> &'static str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(self) -> &'static str {
        self.names().0
    }

    /// The verbs under which rules change it.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            // Most fields of an existing pod and the whole template of an existing Job are immutable.
            Self::Pods | Self::Jobs => &[Verb::Create],
            _ => &[Verb::Create, Verb::Update],
        }
    }
}
