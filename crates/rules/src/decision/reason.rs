//! Why rules leave objects alone: one word each.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $about:literal])* $name:ident = $word:literal,)*) => {
        /// Why a rule left an object alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $about])* $name,)*
        }

        impl Reason {
            /// Every reason, in the order in which rules are asked.
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
    /// Namespaces of the cluster itself.
    ExcludedSystemNamespace = "excluded_system_namespace",
    /// The injector's own namespace.
    ExcludedOwnNamespace = "excluded_own_namespace",
    /// A subresource.
    ExcludedSubresource = "excluded_subresource",
    /// An operation under which the resource cannot be changed.
    ExcludedOperation = "excluded_operation",
    /// Static pods, which the kubelet owns.
    ExcludedMirrorPod = "excluded_mirror_pod",
    /// The injector's own pods.
    ExcludedOwnPod = "excluded_own_pod",
    /// An object on its way out.
    ExcludedDeletion = "excluded_deletion",
    /// A workload whose controller keeps it as it is.
    ExcludedControlled = "excluded_controlled",
    /// An administrator exempted it, by the settings.
    Exempted = "exempted",
    /// The rule is for another resource.
    OtherResource = "other_resource",
    /// `match.namespaces`.
    NamespaceNotMatched = "namespace_not_matched",
    /// `match.objects`.
    LabelsNotMatched = "labels_not_matched",
    /// `match.ownerKinds`.
    OwnerKindNotMatched = "owner_kind_not_matched",
    /// The rule or an exemption asks for facts about the namespace that nobody knows.
    NamespaceUnknown = "namespace_unknown",
    /// Nobody asked for the rule.
    NotOptedIn = "not_opted_in",
    /// Somebody declined the rule.
    OptedOut = "opted_out",
    /// An opt-in key holds a value that cannot be read.
    InvalidValue = "invalid_value",
    /// The object has another shape than any that the API server stores.
    InvalidObject = "invalid_object",
    /// Containers of another operating system.
    OsMismatch = "os_mismatch",
    /// The pod uses the network of its node.
    HostNetwork = "host_network",
    /// A regular sidecar would keep a Job from ending.
    JobWithoutNativeSidecar = "job_without_native_sidecar",
    /// The rule has not reached this workload yet, by `rollout.percent`.
    NotRolledOut = "not_rolled_out",
    /// A parameter has no value, or one that the rule does not take.
    InvalidParameter = "invalid_parameter",
    /// A condition of the rule does not hold.
    WhenFalse = "when_false",
    /// Something else stands where the rule would put its own.
    Conflict = "conflict",
    /// The rule's result would be no valid pod.
    Error = "error",
    /// Another rule refuses the object.
    ObjectDenied = "object_denied",
}

impl Reason {
    /// Whether somebody wanted the rule and did not get it, and should know: the others are how it was meant to be.
    pub fn is_unexpected(self) -> bool {
        matches!(
            self,
            Self::NamespaceUnknown
                | Self::InvalidValue
                | Self::InvalidObject
                | Self::InvalidParameter
                | Self::JobWithoutNativeSidecar
                | Self::Conflict
                | Self::Error
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
