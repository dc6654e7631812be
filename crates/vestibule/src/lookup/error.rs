//! The errors of lookups.

use std::time::Duration;

/// Why a lookup has no answer. `?` makes a fault of it; of [`LookupError::NotSynced`], an answer 503 with `Retry-After`: the API
/// server calls again after a second.
///
/// The text names the object, and never its content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The app does not declare lookups of this kind.
    #[error(
        "{kind} is not looked up by this app: add `.watch(Watch::<{kind}>::new())` or `.read::<{kind}>()` to it, which is also \
         how it gets the right to"
    )]
    NotRegistered {
        /// The kind.
        kind: String,
    },
    /// The app keeps no objects of this kind in memory: it declares [`App::read`](crate::App::read).
    #[error(
        "this app keeps no {kind} in memory: declare `.watch(Watch::<{kind}>::new())` instead of `.read`"
    )]
    NotWatched {
        /// The kind.
        kind: String,
    },
    /// The first list of this kind is still being read.
    #[error("waiting for {missing}")]
    NotSynced {
        /// The kind, and the error of the last attempt, if there was one.
        missing: String,
    },
    /// The kind is namespaced, and neither the request nor the lookup names a namespace.
    #[error("which {kind} is meant? the request has no namespace: name one by `.within(\"..\")`")]
    NoNamespace {
        /// The kind.
        kind: String,
    },
    /// The lookup names another namespace than the watched one.
    #[error("{kind} is watched in namespace {watched} only, not in {namespace}")]
    OutOfScope {
        /// The kind.
        kind: String,
        /// The namespace of the lookup.
        namespace: String,
        /// The namespace that is watched.
        watched: String,
    },
    /// The watch has no such index.
    #[error("{kind} has no index `{index}`: add `.index(\"{index}\", ..)` to its watch")]
    NoIndex {
        /// The kind.
        kind: String,
        /// The index of the lookup.
        index: String,
    },
    /// The API server did not answer in the time that was left for the call.
    #[error("timeout: {object} could not be read within {} ms (context deadline exceeded)", after.as_millis())]
    Late {
        /// Kind, namespace and name.
        object: String,
        /// The time of the wait.
        after: Duration,
    },
    /// The API server refused, or could not be reached, or its answer could not be understood.
    #[error("{object} cannot be read: {why}")]
    Api {
        /// Kind, namespace and name.
        object: String,
        /// The HTTP status; [`None`] if there was no response.
        code: Option<u16>,
        /// The message of the API server, or of the client.
        why: String,
    },
}
