//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address is in use, or this process may not bind it.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address of the settings.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Two hooks have the same path.
    #[error("two hooks are to be served at {path}; give one of them another path")]
    Path {
        /// The path.
        path: String,
    },
    /// A path does not begin with `/`.
    #[error("the path {path:?} of a hook does not begin with `/`")]
    Relative {
        /// The path.
        path: String,
    },
    /// The random generator of the system failed.
    #[error("the random generator of the operating system failed")]
    Random,
    /// The TLS library refused the settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}
