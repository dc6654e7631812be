//! The options of a hook, with the values of the Kubernetes API.

use strum::Display;

/// The API server's reaction to a failed call: no answer, a fault of the handler, a missed deadline.
///
/// There is no default. `Ignore` lets objects pass untouched; `Fail` stops writes of the whole cluster while the webhook is
/// down. Only the author knows which is worse.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::Create;
/// use vestibule::{App, Context, FailurePolicy, Reject, on};
///
/// async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
///
/// let unnamed = App::new("demo").mutate("same", on::<Pod>([Create]), same);
/// assert!(unnamed.check().unwrap_err().to_string().contains(".failure_policy(..)"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The request goes on as if there were no hook.
    Ignore,
    /// The request is refused.
    Fail,
}

/// Whether a hook is called for objects that reach the API server in another version than the rules name.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchPolicy {
    /// Yes; the API server converts them to the version of the rules.
    #[default]
    Equivalent,
    /// No: a client can bypass the hook by writing another version.
    Exact,
}

/// Whether a mutating hook is called again when a later webhook changed the object.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reinvocation {
    /// Yes. The handler should then find nothing left to change.
    #[default]
    IfNeeded,
    /// No.
    Never,
}

/// The side effects of a hook.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideEffects {
    /// None.
    #[default]
    None,
    /// Some, but none on a dry run ([`Context::dry_run`](crate::Context::dry_run)).
    NoneOnDryRun,
}

/// Whether a rule is for cluster-scoped or namespaced objects.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Both.
    #[default]
    #[strum(to_string = "*")]
    Any,
    /// Cluster-scoped objects.
    Cluster,
    /// Namespaced objects.
    Namespaced,
}

impl FailurePolicy {
    /// As the API server spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
        }
    }
}
