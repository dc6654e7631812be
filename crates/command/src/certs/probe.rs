//! Tells whether kube-apiserver would accept a server: a TLS handshake, judged as Go judges it.

mod handshake;
mod names;
mod recorder;
mod verdict;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, SystemTime};

use rustls_pki_types::{ServerName, UnixTime};
use vestibule_pki::{Bundle, CertificateFacts, describe};

use handshake::{Handshake, handshake};
use verdict::Verification;

/// A server, and the settings of the client.
pub(super) struct Probe {
    /// `HOST:PORT`, as in Go's `net.Dial`: `[::1]:443`.
    pub(super) address: String,
    /// The name that the certificate must have, and SNI: `NAME.NS.svc` for a Service.
    pub(super) name: String,
    /// The `caBundle`, in PEM.
    pub(super) bundle: String,
    /// For dialing, and again for the handshake.
    pub(super) timeout: Duration,
}

/// The result of a handshake.
pub(super) struct Probed {
    /// The address of the server.
    pub(super) peer: SocketAddr,
    /// `TLS 1.2` or `TLS 1.3`; [`None`] if the handshake failed before.
    pub(super) tls: Option<&'static str>,
    /// The certificates that the server presented, the leaf first.
    pub(super) chain: Vec<CertificateFacts>,
    /// The certificates of the bundle.
    pub(super) bundle: Vec<CertificateFacts>,
    /// The server asked for a client certificate. kube-apiserver has none unless its operator configured one.
    pub(super) asks_for_certificate: bool,
    /// The errors of a Go client; none if it would accept the server.
    pub(super) refusals: Vec<Refusal>,
}

/// One reason for which kube-apiserver would not call the server.
#[derive(Debug)]
pub(super) struct Refusal {
    /// A word for scripts.
    pub(super) cause: &'static str,
    /// The reason, for people.
    pub(super) message: String,
    /// The words of kube-apiserver, where they are known to the letter.
    pub(super) go: Option<String>,
    /// The step that resolves it.
    pub(super) advice: String,
}

/// The reason why a server cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeError {
    #[error("`{0}` is no address: write HOST:PORT")]
    Address(String),
    #[error("`{0}` is neither a DNS name nor an IP address")]
    Name(String),
    #[error("{address} cannot be reached: {reason}; kube-apiserver would print `{go}`")]
    Unreachable { address: String, reason: String, go: String },
}

impl Probe {
    /// With ten seconds for dialing and as many for the handshake, the time that kube-apiserver gives a handshake.
    pub(super) fn new(address: &str, name: &str, bundle: &str) -> Self {
        let timeout = Duration::from_secs(10);
        Self { address: address.to_owned(), name: name.to_owned(), bundle: bundle.to_owned(), timeout }
    }

    /// Dials, shakes hands, and judges the presented certificates at the moment `now`. Sends nothing else. Blocks.
    pub(super) fn run(&self, now: SystemTime) -> Result<Probed, ProbeError> {
        let name =
            ServerName::try_from(self.name.clone()).map_err(|_| ProbeError::Name(self.name.clone()))?;
        let (peer, handshake) = self.dial(&name)?;
        let chain: Vec<_> = handshake.chain.iter().filter_map(describe).collect();
        let bundle = Bundle::read(self.bundle.as_bytes()).certificates;
        let bundle: Vec<_> = bundle.values().filter_map(describe).collect();
        let mut refusals = Vec::new();
        if !handshake.chain.is_empty() || handshake.failure.is_none() {
            let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let verification = Verification {
                bundle: &self.bundle,
                roots: &bundle,
                chain: &handshake.chain,
                presented: &chain,
                name: &self.name,
                now: UnixTime::since_unix_epoch(since_1970),
            };
            refusals = verification.refusals();
        }
        refusals.extend(handshake.failure);
        let (tls, asks_for_certificate) = (handshake.tls, handshake.asks_for_certificate);
        Ok(Probed { peer, tls, chain, bundle, asks_for_certificate, refusals })
    }

    /// Every address of the host in turn, as Go does.
    fn dial(&self, name: &ServerName<'static>) -> Result<(SocketAddr, Handshake), ProbeError> {
        // A URL is no address.
        let parts = self.address.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('/'));
        let (host, _) = parts.ok_or_else(|| ProbeError::Address(self.address.clone()))?;
        let no_such_host = || format!("dial tcp: lookup {host}: no such host");
        let addresses = self.address.to_socket_addrs().map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => ProbeError::Address(self.address.clone()),
            _ => self.unreachable("there is no such host", no_such_host()),
        })?;
        let mut last = self.unreachable("the name has no address", no_such_host());
        for address in addresses {
            match handshake(address, name.clone(), self.timeout) {
                Ok(handshake) => return Ok((address, handshake)),
                Err(error) => last = self.not_connected(address, &error),
            }
        }
        Err(last)
    }

    fn not_connected(&self, address: SocketAddr, error: &io::Error) -> ProbeError {
        let text = error.to_string();
        let (reason, go) = match error.kind() {
            ErrorKind::ConnectionRefused => (
                "nothing listens there (connection refused); is the server running, and is it this port?",
                "connect: connection refused",
            ),
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                ("no answer; a firewall or a NetworkPolicy may drop packets", "i/o timeout")
            }
            _ => (&*text, &*text),
        };
        self.unreachable(reason, format!("dial tcp {address}: {go}"))
    }

    fn unreachable(&self, reason: &str, go: String) -> ProbeError {
        ProbeError::Unreachable { address: self.address.clone(), reason: reason.to_owned(), go }
    }
}

impl Refusal {
    /// `go` is empty where the words of Go are not known to the letter.
    fn new(cause: &'static str, message: impl Into<String>, advice: impl Into<String>, go: &str) -> Self {
        // crypto/tls puts its own words in front of those of crypto/x509.
        let prefix = if go.starts_with("x509: ") { "tls: failed to verify certificate: " } else { "" };
        let go = (!go.is_empty()).then(|| format!("{prefix}{go}"));
        Self { cause, message: message.into(), go, advice: advice.into() }
    }
}

#[cfg(test)]
mod tests;
