//! The reasons why a rule does not change an object, each with the word that metrics and audit annotations use.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $about:literal])* $name:ident = $word:literal,)*) => {
        /// Why a rule did not change an object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $about])* $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the checks.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word for metrics and audit annotations: `not_opted_in`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

reasons! {
    /// The namespace is one of the cluster itself, such as `kube-system`.
    ExcludedSystemNamespace = "excluded_system_namespace",
    /// The namespace is the injector's own.
    ExcludedOwnNamespace = "excluded_own_namespace",
    /// The request is for a subresource.
    ExcludedSubresource = "excluded_subresource",
    /// Rules do not change the resource under this operation.
    ExcludedOperation = "excluded_operation",
    /// The pod is a static pod, which belongs to its kubelet.
    ExcludedMirrorPod = "excluded_mirror_pod",
    /// The pod belongs to the injector itself.
    ExcludedOwnPod = "excluded_own_pod",
    /// The object is being deleted.
    ExcludedDeletion = "excluded_deletion",
    /// The object is a ReplicaSet whose controller requires the template to stay unchanged.
    ExcludedControlled = "excluded_controlled",
    /// An exemption of the settings applies.
    Exempted = "exempted",
    /// The rule is for another resource.
    OtherResource = "other_resource",
    /// `match.namespaceSelector` does not match.
    NamespaceNotMatched = "namespace_not_matched",
    /// `match.objectSelector` does not match.
    LabelsNotMatched = "labels_not_matched",
    /// `match.ownerKinds` does not match.
    OwnerKindNotMatched = "owner_kind_not_matched",
    /// The rule or an exemption needs labels or annotations of the namespace that are not known.
    NamespaceUnknown = "namespace_unknown",
    /// Neither the object nor its namespace opts in.
    NotOptedIn = "not_opted_in",
    /// The object or its namespace opts out.
    OptedOut = "opted_out",
    /// An opt-in key holds a value that cannot be read.
    InvalidValue = "invalid_value",
    /// A member of the object has a type that the API server does not accept.
    InvalidObject = "invalid_object",
    /// The pod is for another operating system.
    OsMismatch = "os_mismatch",
    /// The pod uses the network of its node.
    HostNetwork = "host_network",
    /// A regular sidecar would keep a Job from completing.
    JobWithoutNativeSidecar = "job_without_native_sidecar",
    /// The workload is not in the share of `rollout.percent`.
    NotRolledOut = "not_rolled_out",
    /// A parameter has no value, or one that the rule does not accept.
    InvalidParameter = "invalid_parameter",
    /// One of `matchConditions` is false.
    MatchConditionFalse = "match_condition_false",
    /// The object has something else where the rule would add its own.
    Conflict = "conflict",
    /// The result of the rule would not be a valid pod.
    Error = "error",
    /// The rule is of a namespace, and would add a part that it may not have, or change what the object or another rule has.
    NotAllowed = "not_allowed",
    /// Another rule denies the object.
    ObjectDenied = "object_denied",
}

impl Reason {
    /// Whether the rule was wanted and could not act, which the user should know. The other reasons are intended results.
    pub fn is_unexpected(self) -> bool {
        matches!(
            self,
            Self::NamespaceUnknown
                | Self::InvalidValue
                | Self::InvalidObject
                | Self::InvalidParameter
                | Self::JobWithoutNativeSidecar
                | Self::Conflict
                | Self::NotAllowed
                | Self::Error
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
