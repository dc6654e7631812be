//! What the author of a hook chooses between.

/// What the API server does when a call fails: no answer, a fault of the handler, a missed deadline.
///
/// There is no default. `Ignore` lets objects pass untouched; `Fail` stops writes of the whole cluster while the webhook is
/// down. Only the author knows which is worse.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::Create;
/// use vestibule::{FailurePolicy, App, Context, Reject, on};
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchPolicy {
    /// It is, and sees them converted to the version it asked for.
    #[default]
    Equivalent,
    /// It is not: whoever writes another version goes round it.
    Exact,
}

/// Whether a mutating hook is called again when others changed the object after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reinvocation {
    /// It is. Called again, a handler that is done answers with nothing.
    #[default]
    IfNeeded,
    /// It is not.
    Never,
}

/// What a hook does elsewhere when it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideEffects {
    /// Nothing.
    #[default]
    None,
    /// Something, but not when [`Context::dry_run`](crate::Context::dry_run) says so.
    NoneOnDryRun,
}

/// Which objects a rule is for, by where they live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// All of them.
    #[default]
    Any,
    /// Those without a namespace.
    Cluster,
    /// Those in a namespace.
    Namespaced,
}

impl FailurePolicy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
        }
    }
}

impl MatchPolicy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Equivalent => "Equivalent",
            Self::Exact => "Exact",
        }
    }
}

impl Reinvocation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::IfNeeded => "IfNeeded",
            Self::Never => "Never",
        }
    }
}

impl SideEffects {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::NoneOnDryRun => "NoneOnDryRun",
        }
    }
}

impl Scope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Any => "*",
            Self::Cluster => "Cluster",
            Self::Namespaced => "Namespaced",
        }
    }
}
