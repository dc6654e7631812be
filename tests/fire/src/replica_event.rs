//! The events that a replica process reports.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// An event of a replica, written to its standard output as one JSON object per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum ReplicaEvent {
    /// The replica listens.
    Listening {
        /// The process id.
        process: u32,
        /// The addresses of the hooks, in the order of the Service's ports: the first closes the connection after each
        /// answer, the second keeps it.
        hooks: [SocketAddr; 2],
        /// The address of `/readyz`, without TLS.
        probes: SocketAddr,
    },
    /// The replica presented this certificate for the first time.
    Presented {
        /// The serial number.
        serial: String,
        /// The name of the signing CA.
        issuer: String,
        /// Whether the chain contains a cross-signed CA certificate.
        crossed: bool,
        /// The end of the validity, in seconds since 1970.
        not_after: u64,
    },
    /// A client refused the certificate, or closed the connection.
    HandshakeFailed {
        /// The error from rustls.
        reason: String,
    },
    /// The replica wrote the ring.
    RingWritten {
        /// The kind of change.
        change: String,
    },
    /// The replica wrote a caBundle.
    BundleWritten {
        /// The webhook configuration.
        registration: String,
        /// The field manager whose change was undone.
        repaired_from: Option<String>,
    },
    /// The ring was rolled back, replaced or deleted.
    Discontinuity,
    /// A read or write of an object failed.
    Trouble {
        /// The object and the error.
        what: String,
    },
}

impl ReplicaEvent {
    /// Parses a line of output; `None` if the line is not an event.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
    }
}
