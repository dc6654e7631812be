//! The resources that rules change, and when.

/// What rules change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// ReplicaSets of `apps` that nobody controls: their pod template. That of a Deployment's has to stay the Deployment's.
    ReplicaSets,
    /// Jobs of `batch`, when they are created: the pod template of a Job cannot be changed any more.
    Jobs,
    /// CronJobs of `batch`: the pod template of their jobs.
    CronJobs,
}

/// What is being done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// All of them, pods first.
    pub const ALL: &[Self] = &[
        Self::Pods,
        Self::Deployments,
        Self::StatefulSets,
        Self::DaemonSets,
        Self::ReplicaSets,
        Self::Jobs,
        Self::CronJobs,
    ];

    /// The resource of a request.
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

    /// The resource that objects of a kind are.
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

    /// The word of the API: `pods`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Deployments => "deployments",
            Self::StatefulSets => "statefulsets",
            Self::DaemonSets => "daemonsets",
            Self::ReplicaSets => "replicasets",
            Self::Jobs => "jobs",
            Self::CronJobs => "cronjobs",
        }
    }

    /// What its objects are called: `Pod`.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Pods => "Pod",
            Self::Deployments => "Deployment",
            Self::StatefulSets => "StatefulSet",
            Self::DaemonSets => "DaemonSet",
            Self::ReplicaSets => "ReplicaSet",
            Self::Jobs => "Job",
            Self::CronJobs => "CronJob",
        }
    }

    /// Its API group; empty for pods.
    pub fn group(self) -> &'static str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Pods => "v1",
            Self::Deployments | Self::StatefulSets | Self::DaemonSets | Self::ReplicaSets => "apps/v1",
            Self::Jobs | Self::CronJobs => "batch/v1",
        }
    }

    /// The verbs under which rules change it.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            // Most of a pod cannot be changed any more once it exists, and nothing of a Job's template.
            Self::Pods | Self::Jobs => &[Verb::Create],
            Self::Deployments
            | Self::StatefulSets
            | Self::DaemonSets
            | Self::ReplicaSets
            | Self::CronJobs => &[Verb::Create, Verb::Update],
        }
    }
}
