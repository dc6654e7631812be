//! Why a caller cannot be made.

use std::error::Error;

/// Why a caller cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// kube-apiserver says of it: `unable to load root certificates: unable to parse bytes as PEM block`.
    #[error("the CA bundle holds no certificate, or a broken one; give one or more PEM certificates")]
    Bundle,
    /// The name is neither a DNS name nor an IP address.
    #[error("{name:?} is no DNS name or IP address; a Service's is NAME.NAMESPACE.svc")]
    ServerName {
        /// The name.
        name: String,
    },
    /// The TLS library refused its own defaults.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
}
