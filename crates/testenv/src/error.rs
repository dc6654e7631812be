//! The errors of this crate.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::log_tail::tail;

/// An environment, or a part of it, could not be started or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The programs are missing on this machine, and cannot be built.
    #[error("no programs to run: {reason}")]
    Unavailable {
        /// The programs, and the ways to get them.
        reason: String,
    },
    /// A program ended, or did not become ready.
    #[error("{what}; the end of its log:\n{log}")]
    Start {
        /// The program, and its failure.
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
        /// The reason.
        reason: String,
    },
    /// A file or folder could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The attempted action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A local address could not be used.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The thread of balancers and recorders could not be started.
    #[error("cannot start the background thread: {0}")]
    Background(#[source] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A certificate could not be served.
    #[error("cannot serve a certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// The API server refused a request, or could not be reached.
    #[error("cannot {action}: {source}")]
    Api {
        /// The attempted action.
        action: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// An object lacks a required field.
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

    /// Turns [`Error::Late`] into [`Error::Start`] with the end of the program's log. Other errors stay as they are.
    pub(crate) fn with_log(self, log: &str) -> Self {
        match self {
            late @ Self::Late { .. } => Self::Start { what: late.to_string(), log: tail(log) },
            other => other,
        }
    }

    pub(crate) fn api(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        |source| Self::Api { action: action.into(), source: Box::new(source) }
    }
}
