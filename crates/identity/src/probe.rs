//! Tells whether kube-apiserver would accept a server: a TLS handshake, judged as Go judges it.

mod handshake;
mod handshake_error;
mod names;
mod refusal;
mod time;
mod verdict;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, SystemTime};

use rustls_pki_types::ServerName;
use vestibule_pki::{Bundle, CertificateFacts, describe};

use handshake::{Shaken, shake};
pub use refusal::{Cause, Refusal};
use verdict::Question;

/// A server, and the settings of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probe {
    /// `HOST:PORT`, as in Go's `net.Dial`: `[::1]:443`.
    pub address: String,
    /// The name that the certificate must have, and SNI: `NAME.NS.svc` for a Service.
    pub name: String,
    /// The `caBundle`, in PEM.
    pub bundle: String,
    /// For dialing, and again for the handshake.
    pub timeout: Duration,
}

/// The result of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probed {
    /// Its address.
    pub peer: SocketAddr,
    /// `TLS 1.2` or `TLS 1.3`; [`None`] where it did not come to that.
    pub tls: Option<&'static str>,
    /// The certificates that it presented, the leaf first.
    pub chain: Vec<CertificateFacts>,
    /// The certificates of the bundle.
    pub bundle: Vec<CertificateFacts>,
    /// The server asked for a client certificate. kube-apiserver has none unless its operator configured one.
    pub asks_for_certificate: bool,
    /// The error of a Go client; none if it would accept the server.
    pub refusals: Vec<Refusal>,
}

/// The reason why a server cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// Not `HOST:PORT`.
    #[error("`{0}` is no address: write HOST:PORT")]
    Address(String),
    /// Neither a DNS name nor an IP address.
    #[error("`{0}` is neither a DNS name nor an IP address")]
    Name(String),
    /// No server answers.
    #[error("{address} cannot be reached: {reason}; kube-apiserver would print `{go}`")]
    Unreachable {
        /// As given.
        address: String,
        /// The reason.
        reason: String,
        /// How Go puts it.
        go: String,
    },
}

impl Probe {
    /// With ten seconds for dialing and as many for the handshake, the time that kube-apiserver gives a handshake.
    #[must_use]
    pub fn new(address: &str, name: &str, bundle: &str) -> Self {
        let timeout = Duration::from_secs(10);
        Self { address: address.to_owned(), name: name.to_owned(), bundle: bundle.to_owned(), timeout }
    }

    /// Dials, shakes hands, and judges what was presented at the moment `now`. Sends nothing else. Blocks.
    ///
    /// # Errors
    /// An invalid address or name, or no server that answers.
    pub fn run(&self, now: SystemTime) -> Result<Probed, ProbeError> {
        let name =
            ServerName::try_from(self.name.clone()).map_err(|_| ProbeError::Name(self.name.clone()))?;
        let (peer, shaken) = self.dial(&name)?;
        let chain: Vec<_> = shaken.chain.iter().filter_map(describe).collect();
        let bundle = Bundle::read(self.bundle.as_bytes()).certificates;
        let bundle: Vec<_> = bundle.values().filter_map(describe).collect();
        let mut refusals = Vec::new();
        if !shaken.chain.is_empty() || shaken.error.is_none() {
            let question = Question {
                bundle: &self.bundle,
                roots: &bundle,
                chain: &shaken.chain,
                presented: &chain,
                name: &self.name,
                now: crate::time::unix_time(now),
            };
            refusals = question.refusals();
        }
        let asks_for_certificate = shaken.asks_for_certificate;
        refusals.extend(
            shaken.error.map(|error| handshake_error::refusal(error, asks_for_certificate, &self.name)),
        );
        Ok(Probed { peer, tls: shaken.tls, chain, bundle, asks_for_certificate, refusals })
    }

    /// Every address of the host in turn, as Go does.
    fn dial(&self, name: &ServerName<'static>) -> Result<(SocketAddr, Shaken), ProbeError> {
        let (host, _) =
            self.address.rsplit_once(':').ok_or_else(|| ProbeError::Address(self.address.clone()))?;
        let addresses = self.address.to_socket_addrs().map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => ProbeError::Address(self.address.clone()),
            _ => self.unreachable("there is no such host", format!("dial tcp: lookup {host}: no such host")),
        })?;
        let mut last =
            self.unreachable("the name has no address", format!("dial tcp: lookup {host}: no such host"));
        for address in addresses {
            match shake(address, name.clone(), self.timeout) {
                Ok(shaken) => return Ok((address, shaken)),
                Err(error) => last = self.not_connected(address, &error),
            }
        }
        Err(last)
    }

    fn not_connected(&self, address: SocketAddr, error: &io::Error) -> ProbeError {
        let go = |words: &str| format!("dial tcp {address}: {words}");
        match error.kind() {
            ErrorKind::ConnectionRefused => self.unreachable(
                "nobody listens there (connection refused); is the server running, and is it this port?",
                go("connect: connection refused"),
            ),
            ErrorKind::TimedOut | ErrorKind::WouldBlock => self
                .unreachable("no answer; a firewall or a NetworkPolicy may drop packets", go("i/o timeout")),
            _ => self.unreachable(&error.to_string(), go(&error.to_string())),
        }
    }

    fn unreachable(&self, reason: &str, go: String) -> ProbeError {
        ProbeError::Unreachable { address: self.address.clone(), reason: reason.to_owned(), go }
    }
}
