//! Why a lookup has no answer.

use std::time::Duration;

/// Why a lookup has no answer. `?` makes a fault of it, and [`LookupError::NotSynced`] a "not yet": the API server is told
/// to come again in a second.
///
/// It says which object was asked for, and never what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The app does not say that it looks up such objects.
    #[error(
        "{kind} is not looked up by this app: add `.watch::<{kind}>()` or `.read::<{kind}>()` to it, which is also how it \
         gets the right to"
    )]
    NotRegistered {
        /// The kind.
        kind: String,
    },
    /// The app reads such objects one by one and keeps none: [`App::read`](crate::App::read).
    #[error("no {kind} is kept by this app: `.watch::<{kind}>()` instead of `.read` keeps them")]
    NotWatched {
        /// The kind.
        kind: String,
    },
    /// The first list of such objects is still being read.
    #[error("waiting for {missing}")]
    NotSynced {
        /// The kind, and what stands in the way if anything does.
        missing: String,
    },
    /// The kind lives in namespaces, and neither the request nor the lookup names one.
    #[error("which {kind} is meant? the request has no namespace: name one by `.within(\"..\")`")]
    NoNamespace {
        /// The kind.
        kind: String,
    },
    /// Another namespace than the one that is watched.
    #[error("{kind} is watched in namespace {watched} only, not in {namespace}")]
    OutOfScope {
        /// The kind.
        kind: String,
        /// The namespace that was asked for.
        namespace: String,
        /// The namespace that is watched.
        watched: String,
    },
    /// The watch has no such index.
    #[error("{kind} has no index `{index}`: add `.index(\"{index}\", ..)` to its watch")]
    NoIndex {
        /// The kind.
        kind: String,
        /// The index that was asked for.
        index: String,
    },
    /// The API server did not answer while there was time left for this request.
    #[error("timeout: {object} could not be read within {} ms (context deadline exceeded)", after.as_millis())]
    Late {
        /// Kind, namespace and name.
        object: String,
        /// How long was waited.
        after: Duration,
    },
    /// The API server refused, or could not be reached, or its answer could not be understood.
    #[error("{object} cannot be read: {why}")]
    Api {
        /// Kind, namespace and name.
        object: String,
        /// The HTTP status; [`None`] where there was none.
        code: Option<u16>,
        /// In the API server's words, where it spoke.
        why: String,
    },
}
