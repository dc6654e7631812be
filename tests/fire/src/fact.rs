//! What a replica tells.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What a replica tells of itself, one JSON object to a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "camelCase")]
pub enum Fact {
    /// It listens.
    Listening {
        /// Its number with the system.
        process: u32,
        /// For the API server, in the order of the Service's ports: one closes the connection after each answer, one
        /// keeps it.
        hooks: [SocketAddr; 2],
        /// `/readyz`, plain.
        probes: SocketAddr,
    },
    /// A client got this certificate for the first time.
    Presented {
        /// Its serial number.
        serial: String,
        /// The name of the CA that signed it.
        issuer: String,
        /// Whether the CA's cross certificate came with it.
        crossed: bool,
        /// The end of its validity, seconds since 1970.
        not_after: u64,
    },
    /// A client did not accept it, or went away.
    HandshakeFailed {
        /// As rustls tells it.
        reason: String,
    },
    /// It wrote the ring.
    RingWritten {
        /// What it changed.
        change: String,
    },
    /// It wrote a bundle.
    BundleWritten {
        /// Where.
        registration: String,
        /// Whose change it undid.
        repaired_from: Option<String>,
    },
    /// The ring did not continue what it knew.
    Discontinuity,
    /// Something could not be read or written.
    Trouble {
        /// What, in words.
        what: String,
    },
}

impl Fact {
    /// The fact that a line of log is, if it is one.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
    }
}
