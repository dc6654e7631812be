//! The reasons why a rule does not change an object, each with the word that metrics and audit annotations use.

use strum::{Display, IntoStaticStr, VariantArray};

/// Why a rule did not change an object. `Display` prints the word for metrics and audit annotations.
#[derive(Clone, Copy, Debug, Display, IntoStaticStr, PartialEq, Eq, Hash, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The namespace is one of the cluster itself, such as `kube-system`.
    ExcludedSystemNamespace,
    /// The namespace is the injector's own.
    ExcludedOwnNamespace,
    /// The request is for a subresource.
    ExcludedSubresource,
    /// Rules do not change the resource under this operation.
    ExcludedOperation,
    /// The pod is a static pod, which belongs to its kubelet.
    ExcludedMirrorPod,
    /// The pod belongs to the injector itself.
    ExcludedOwnPod,
    /// The object is being deleted.
    ExcludedDeletion,
    /// The object is a ReplicaSet whose controller requires the template to stay unchanged.
    ExcludedControlled,
    /// An exemption of the settings applies.
    Exempted,
    /// The rule is for another resource.
    OtherResource,
    /// `match.namespaceSelector` does not match.
    NamespaceNotMatched,
    /// `match.objectSelector` does not match.
    LabelsNotMatched,
    /// `match.ownerKinds` does not match.
    OwnerKindNotMatched,
    /// The rule or an exemption needs labels or annotations of the namespace that are not known.
    NamespaceUnknown,
    /// Neither the object nor its namespace opts in.
    NotOptedIn,
    /// The object or its namespace opts out.
    OptedOut,
    /// An opt-in key holds a value that cannot be read.
    InvalidValue,
    /// A member of the object has a type that the API server does not accept.
    InvalidObject,
    /// The pod is for another operating system.
    OsMismatch,
    /// The pod uses the network of its node.
    HostNetwork,
    /// A regular sidecar would keep a Job from completing.
    JobWithoutNativeSidecar,
    /// The workload is not in the share of `rollout.percent`.
    NotRolledOut,
    /// A parameter has no value, or one that the rule does not accept.
    InvalidParameter,
    /// One of `matchConditions` is false.
    MatchConditionFalse,
    /// The object has something else where the rule would add its own.
    Conflict,
    /// The result of the rule would not be a valid pod.
    Error,
    /// The rule is of a namespace, and would add a part that it may not have, or change what the object or another rule has.
    NotAllowed,
    /// Another rule denies the object.
    ObjectDenied,
}

impl Reason {
    /// Every reason, in the order of the checks.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The word for metrics and audit annotations: `not_opted_in`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

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
