//! What can go wrong.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why an environment, or something in it, could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine lacks programs, and cannot build them.
    #[error("no programs to run: {reason}")]
    Unavailable {
        /// What was looked for, and what would help.
        reason: String,
    },
    /// A program ended, or did not become ready.
    #[error("{what}; the end of its log:\n{log}")]
    Start {
        /// Which program, and what it did.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// A child could not be sent a signal.
    #[error("cannot send SIG{signal} to {name}: {reason}")]
    Child {
        /// The child's name.
        name: String,
        /// The signal, without `SIG`.
        signal: String,
        /// Why not.
        reason: String,
    },
    /// A file or folder could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A local address could not be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The thread that carries balancers and recorders could not be started.
    #[error("cannot start the background thread: {0}")]
    Background(#[source] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate could not be served.
    #[error("cannot serve a certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// The API server refused, or could not be asked.
    #[error("cannot {action}: {source}")]
    Api {
        /// What was asked for.
        action: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// An object lacks what every object has.
    #[error("not a Kubernetes object: {0}")]
    Object(String),
    /// An event did not happen in time.
    #[error("{what} did not happen within {seconds} s")]
    Late {
        /// The event.
        what: String,
        /// The length of the wait.
        seconds: u64,
    },
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }

    pub(crate) fn api(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        |source| Self::Api { action: action.into(), source: Box::new(source) }
    }
}
