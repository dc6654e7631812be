//! The resource of a kind, which kube-apiserver knows from its own registry.

/// A kind and its resource.
///
/// ```
/// use vestibule_caller::ApiResource;
///
/// assert!(ApiResource::built_in("apps/v1", "Deployment").is_some());
/// assert!(ApiResource::built_in("example.com/v1", "Widget").is_none());
/// let widgets = ApiResource::namespaced("example.com/v1", "Widget", "widgets");
/// assert!(widgets.is_namespaced());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResource {
    api_version: String,
    kind: String,
    plural: String,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Namespaced,
    Cluster,
}

impl ApiResource {
    /// A resource whose objects live in namespaces.
    pub fn namespaced(api_version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_version, kind, plural, Scope::Namespaced)
    }

    /// A resource whose objects live outside namespaces.
    pub fn cluster_scoped(api_version: &str, kind: &str, plural: &str) -> Self {
        Self::new(api_version, kind, plural, Scope::Cluster)
    }

    /// The resource of a built-in kind, if this table has it.
    pub fn built_in(api_version: &str, kind: &str) -> Option<Self> {
        let (.., plural, scope) = BUILT_IN.iter().find(|row| row.0 == api_version && row.1 == kind)?;
        Some(Self::new(api_version, kind, plural, *scope))
    }

    /// Whether its objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// `kind` of its objects.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its name in a URL, as in `pods`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    pub(super) fn is_namespace(&self) -> bool {
        self.api_version == "v1" && self.kind == "Namespace"
    }

    fn new(api_version: &str, kind: &str, plural: &str, scope: Scope) -> Self {
        Self { api_version: api_version.to_owned(), kind: kind.to_owned(), plural: plural.to_owned(), scope }
    }
}

const BUILT_IN: &[(&str, &str, &str, Scope)] = &[
    ("v1", "Pod", "pods", Scope::Namespaced),
    ("v1", "PodTemplate", "podtemplates", Scope::Namespaced),
    ("v1", "ReplicationController", "replicationcontrollers", Scope::Namespaced),
    ("v1", "ConfigMap", "configmaps", Scope::Namespaced),
    ("v1", "Secret", "secrets", Scope::Namespaced),
    ("v1", "Service", "services", Scope::Namespaced),
    ("v1", "ServiceAccount", "serviceaccounts", Scope::Namespaced),
    ("v1", "Endpoints", "endpoints", Scope::Namespaced),
    ("v1", "Event", "events", Scope::Namespaced),
    ("v1", "LimitRange", "limitranges", Scope::Namespaced),
    ("v1", "ResourceQuota", "resourcequotas", Scope::Namespaced),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", Scope::Namespaced),
    ("v1", "PersistentVolume", "persistentvolumes", Scope::Cluster),
    ("v1", "Namespace", "namespaces", Scope::Cluster),
    ("v1", "Node", "nodes", Scope::Cluster),
    ("apps/v1", "Deployment", "deployments", Scope::Namespaced),
    ("apps/v1", "StatefulSet", "statefulsets", Scope::Namespaced),
    ("apps/v1", "DaemonSet", "daemonsets", Scope::Namespaced),
    ("apps/v1", "ReplicaSet", "replicasets", Scope::Namespaced),
    ("apps/v1", "ControllerRevision", "controllerrevisions", Scope::Namespaced),
    ("batch/v1", "Job", "jobs", Scope::Namespaced),
    ("batch/v1", "CronJob", "cronjobs", Scope::Namespaced),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Scope::Namespaced),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Scope::Namespaced),
    ("networking.k8s.io/v1", "Ingress", "ingresses", Scope::Namespaced),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", Scope::Namespaced),
    ("networking.k8s.io/v1", "IngressClass", "ingressclasses", Scope::Cluster),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", Scope::Namespaced),
    ("coordination.k8s.io/v1", "Lease", "leases", Scope::Namespaced),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", Scope::Namespaced),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", Scope::Namespaced),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", Scope::Cluster),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", Scope::Cluster),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses", Scope::Cluster),
    ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", Scope::Cluster),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", Scope::Cluster),
];
