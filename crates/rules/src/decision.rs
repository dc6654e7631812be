//! What came of it: for every rule, and why.

use std::fmt;
use std::sync::Arc;

use vestibule_patch::Operation;

/// What all rules together make of one object.
pub struct Decision {
    /// One for every rule, in the order they act in.
    pub verdicts: Vec<Verdict>,
    /// Every operation with its origin, in the order they apply; none where a rule denies.
    pub changes: Vec<Change>,
    /// For the user who sent the object: conflicts and values that cannot be read. They hold names, never values of
    /// the object other than those of opt-in keys.
    pub warnings: Vec<String>,
}

/// What one rule makes of one object.
pub struct Verdict {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The name of its source.
    pub source: Arc<str>,
    /// The line that decided.
    pub line: usize,
    /// What it decided.
    pub outcome: Outcome,
}

/// How a rule came out.
#[non_exhaustive]
pub enum Outcome {
    /// The rule changes the object, by the changes that name it.
    Applied,
    /// Everything the rule wants is there already, or conflicts where the rule yields.
    Unchanged,
    /// The rule leaves the object alone, wholly.
    Skipped {
        /// Why, for machines.
        reason: Reason,
        /// Why, for people.
        sentence: String,
    },
    /// The object must not pass.
    Denied {
        /// Why, for the user who sent it.
        message: String,
    },
}

/// One operation and where it comes from. No `Debug`: its value may be a secret.
#[derive(Clone)]
pub struct Change {
    /// What is done.
    pub operation: Operation,
    /// By which part of which rule.
    pub origin: Origin,
}

/// A part of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The rule's name.
    pub rule: Arc<str>,
    /// `sidecars[0]`; the list alone where one operation adds all of it.
    pub clause: String,
    /// The name of the rule's source.
    pub source: Arc<str>,
    /// The line of the clause.
    pub line: usize,
}

/// Why a rule left an object alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Namespaces of the cluster itself.
    ExcludedSystemNamespace,
    /// The injector's own namespace.
    ExcludedOwnNamespace,
    /// The injector's own pods.
    ExcludedOwnPod,
    /// Static pods, which the kubelet owns.
    ExcludedMirrorPod,
    /// A subresource.
    ExcludedSubresource,
    /// An operation under which the resource cannot be changed.
    ExcludedOperation,
    /// An object on its way out.
    ExcludedDeletion,
    /// A ReplicaSet whose template is that of its Deployment.
    ExcludedControlled,
    /// The rule is for another resource.
    OtherResource,
    /// `match.namespaces`.
    NamespaceNotMatched,
    /// The rule asks for facts about the namespace that nobody knows.
    NamespaceUnknown,
    /// `match.objects`.
    LabelsNotMatched,
    /// Nobody asked for the rule.
    NotOptedIn,
    /// Somebody declined the rule.
    OptedOut,
    /// An opt-in key holds a value that cannot be read.
    InvalidValue,
    /// Containers of another operating system.
    OsMismatch,
    /// The pod uses the network of its node.
    HostNetwork,
    /// A regular sidecar would keep a Job from ending.
    JobWithoutNativeSidecar,
    /// Something else stands where the rule would put its own.
    Conflict,
    /// The rule's result would be no valid pod.
    Error,
}

impl Decision {
    /// The JSON Patch.
    pub fn operations(&self) -> Vec<Operation> {
        self.changes.iter().map(|change| change.operation.clone()).collect()
    }

    /// What to tell the user whose object must not pass: the messages of all rules that deny.
    pub fn denial(&self) -> Option<String> {
        let messages = self.verdicts.iter().filter_map(|verdict| match &verdict.outcome {
            Outcome::Denied { message } => Some(message.as_str()),
            Outcome::Applied | Outcome::Unchanged | Outcome::Skipped { .. } => None,
        });
        let messages: Vec<&str> = messages.collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

impl Reason {
    /// The word for metrics and audit annotations: `not_opted_in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExcludedSystemNamespace => "excluded_system_namespace",
            Self::ExcludedOwnNamespace => "excluded_own_namespace",
            Self::ExcludedOwnPod => "excluded_own_pod",
            Self::ExcludedMirrorPod => "excluded_mirror_pod",
            Self::ExcludedSubresource => "excluded_subresource",
            Self::ExcludedOperation => "excluded_operation",
            Self::ExcludedDeletion => "excluded_deletion",
            Self::ExcludedControlled => "excluded_controlled",
            Self::OtherResource => "other_resource",
            Self::NamespaceNotMatched => "namespace_not_matched",
            Self::NamespaceUnknown => "namespace_unknown",
            Self::LabelsNotMatched => "labels_not_matched",
            Self::NotOptedIn => "not_opted_in",
            Self::OptedOut => "opted_out",
            Self::InvalidValue => "invalid_value",
            Self::OsMismatch => "os_mismatch",
            Self::HostNetwork => "host_network",
            Self::JobWithoutNativeSidecar => "job_without_native_sidecar",
            Self::Conflict => "conflict",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, clause, source, line } = self;
        write!(formatter, "rule {rule}, {clause} ({source}:{line})")
    }
}
