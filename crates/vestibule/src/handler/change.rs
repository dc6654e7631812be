//! The argument of validating handlers.

/// The objects of a request; which ones there are depends on the operation.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use vestibule::{Change, Context, Reject, deny};
///
/// async fn keep(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
///     match change {
///         Change::Update { old, new } if old.data != new.data => Err(deny("its data stays as it is")),
///         Change::Delete { old } if old.immutable == Some(true) => Err(deny("it stays")),
///         _ => Ok(()),
///     }
/// }
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Change<T> {
    /// A new object.
    Create {
        /// As it will be stored.
        new: T,
    },
    /// A change of a stored object.
    Update {
        /// As it is stored.
        old: T,
        /// As it will be stored.
        new: T,
    },
    /// A deletion.
    Delete {
        /// As it is stored.
        old: T,
    },
    /// A connection to a subresource, such as `pods/exec`.
    Connect {
        /// `PodExecOptions` and the like.
        options: T,
    },
}

impl<T> Change<T> {
    /// The object as it will be stored, or the options of CONNECT; [`None`] on DELETE.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Create { new } | Self::Update { new, .. } => Some(new),
            Self::Connect { options } => Some(options),
            Self::Delete { .. } => None,
        }
    }
}
