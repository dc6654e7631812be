//! What a replica tells.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What a replica tells of itself, one JSON object to a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "camelCase")]
pub enum Fact {
    /// It listens.
    Listening {
        /// For the API server.
        hooks: SocketAddr,
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
