//! What a validator is asked about.

/// The objects of a request, as far as its operation has them.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Change<T> {
    /// A new object.
    Create {
        /// As it will be stored.
        new: T,
    },
    /// An object that changes.
    Update {
        /// As it is stored.
        old: T,
        /// As it will be stored.
        new: T,
    },
    /// An object that goes.
    Delete {
        /// As it is stored.
        old: T,
    },
    /// A stream into an object, such as `exec`.
    Connect {
        /// `PodExecOptions` and the like.
        options: T,
    },
}

impl<T> Change<T> {
    /// The object as it will be, or the options of CONNECT; nothing on DELETE.
    pub fn object(&self) -> Option<&T> {
        match self {
            Self::Create { new } | Self::Update { new, .. } => Some(new),
            Self::Connect { options } => Some(options),
            Self::Delete { .. } => None,
        }
    }
}
