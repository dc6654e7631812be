//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is taken, or not ours to take.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// As in the settings.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// Two hooks on one path.
    #[error("two hooks are to be served at {path}; give one of them another path")]
    Path {
        /// The path.
        path: String,
    },
    /// No path begins otherwise.
    #[error("the path {path:?} of a hook does not begin with `/`")]
    Relative {
        /// The path.
        path: String,
    },
    /// The random generator of the system does not answer.
    #[error("no random numbers from the system")]
    Random,
    /// The TLS library refuses the settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}
