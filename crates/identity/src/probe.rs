//! Would kube-apiserver accept this server? A TLS handshake, and what Go would say of what came.

mod handshake;
mod refusal;
mod time;
mod verdict;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, SystemTime};

use rustls::AlertDescription;
use rustls_pki_types::ServerName;
use vestibule_pki::{Bundle, CertificateFacts, describe};

use handshake::{Shaken, Trouble, shake};
pub use refusal::{Cause, Refusal};
use verdict::Question;

/// A server, and the client to be for it.
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

/// What a server showed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Probed {
    /// Where it was found.
    pub peer: SocketAddr,
    /// `TLS 1.2` or `TLS 1.3`; [`None`] where it did not come to that.
    pub tls: Option<&'static str>,
    /// The certificates that it presented, the leaf first.
    pub chain: Vec<CertificateFacts>,
    /// The certificates of the bundle.
    pub bundle: Vec<CertificateFacts>,
    /// The server asked for a client certificate. kube-apiserver has none unless its operator configured one.
    pub asks_for_certificate: bool,
    /// What a Go client would trip over, in its order; none if it would go on.
    pub refusals: Vec<Refusal>,
}

/// Why nothing can be said about a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// Not `HOST:PORT`.
    #[error("`{0}` is no address: write HOST:PORT")]
    Address(String),
    /// Neither a DNS name nor an IP address.
    #[error("`{0}` is neither a DNS name nor an IP address")]
    Name(String),
    /// Nobody answers there.
    #[error("{address} cannot be reached: {reason}; kube-apiserver would print `{go}`")]
    Unreachable {
        /// As given.
        address: String,
        /// What happened.
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
    /// An address or a name that is none, or nobody who answers.
    pub fn run(&self, now: SystemTime) -> Result<Probed, ProbeError> {
        let name =
            ServerName::try_from(self.name.clone()).map_err(|_| ProbeError::Name(self.name.clone()))?;
        let (peer, shaken) = self.dial(&name)?;
        let chain: Vec<_> = shaken.chain.iter().filter_map(describe).collect();
        let bundle = Bundle::read(self.bundle.as_bytes()).certificates;
        let bundle: Vec<_> = bundle.values().filter_map(describe).collect();
        let mut refusals = Vec::new();
        if !shaken.chain.is_empty() || shaken.trouble.is_none() {
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
        refusals.extend(shaken.trouble.map(|trouble| refusal(trouble, asks_for_certificate, &self.name)));
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

fn refusal(trouble: Trouble, asked: bool, name: &str) -> Refusal {
    let (cause, message, advice, go) = match trouble {
        Trouble::Alert(alert) if asked && is_about_certificates(alert) => (
            Cause::ClientCertificate,
            "the server insists on a client certificate".to_owned(),
            "kube-apiserver has none unless its AdmissionConfiguration names a kubeconfig: make it optional in the server",
            alert_in_go(alert),
        ),
        Trouble::Alert(alert) => return alerted(alert, name),
        Trouble::Plain { http: true } => (
            Cause::NotTls,
            "the server speaks HTTP without TLS on this port".to_owned(),
            "is it the port for probes and metrics? The webhook's port must speak HTTPS",
            Some("http: server gave HTTP response to HTTPS client"),
        ),
        Trouble::Plain { http: false } => (
            Cause::NotTls,
            "what the server sends is no TLS".to_owned(),
            "is it the right port?",
            Some("tls: first record does not look like a TLS handshake"),
        ),
        Trouble::TooOld => (
            Cause::TlsTooOld,
            "the server speaks no TLS from version 1.2 on".to_owned(),
            "kube-apiserver wants TLS 1.2 or 1.3: raise the server's newest version",
            Some("remote error: tls: protocol version not supported"),
        ),
        Trouble::Signature => (
            Cause::Signature,
            "the server does not hold the key of the certificate that it presents".to_owned(),
            "certificate and key belong to different pairs: install both of one pair",
            Some("tls: invalid signature by the server certificate"),
        ),
        Trouble::Broken(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => (
            Cause::Broken,
            "the server took the connection and then said nothing".to_owned(),
            "it may be overloaded, or not speak TLS on this port",
            Some("net/http: TLS handshake timeout"),
        ),
        Trouble::Broken(error) if error.kind() == ErrorKind::UnexpectedEof => (
            Cause::Broken,
            "the server hung up during the handshake".to_owned(),
            "its log may say why; a server without a certificate does that too",
            Some("EOF"),
        ),
        Trouble::Broken(error) => (
            Cause::Broken,
            format!("the connection broke during the handshake: {error}"),
            "the server's log may say why",
            None,
        ),
        Trouble::Other(error) => {
            (Cause::Other, format!("the handshake failed: {error}"), "the server's log may say more", None)
        }
    };
    let refusal = Refusal::new(cause, message, advice);
    match go {
        Some(go) => refusal.in_go(go.to_owned()),
        None => refusal,
    }
}

fn alerted(alert: AlertDescription, name: &str) -> Refusal {
    let (message, advice) = match alert {
        AlertDescription::HandshakeFailure => (
            "client and server found no way of talking that both know".to_owned(),
            "compare cipher suites and key types; some servers answer so when they have no certificate",
        ),
        AlertDescription::NoApplicationProtocol => (
            "the server does not want HTTP/1.1".to_owned(),
            "webhooks behind a Service are called by HTTP/1.1 only: let the server's ALPN offer http/1.1",
        ),
        AlertDescription::UnrecognisedName => (
            format!("the server knows nothing of the name {name}"),
            "compare its virtual hosts with the name of the Service",
        ),
        AlertDescription::AccessDenied | AlertDescription::InternalError => (
            "the server gave up the handshake: it may have no certificate yet".to_owned(),
            "look whether it is ready, and into its log",
        ),
        other => (
            format!("the server ended the handshake with the alert {other:?}"),
            "the server's log may say why",
        ),
    };
    let refusal = Refusal::new(Cause::Alert, message, advice);
    match alert_in_go(alert) {
        Some(go) => refusal.in_go(go.to_owned()),
        None => refusal,
    }
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::NoCertificate
            | AlertDescription::HandshakeFailure
    )
}

fn alert_in_go(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CertificateRequired => "remote error: tls: certificate required",
        AlertDescription::BadCertificate => "remote error: tls: bad certificate",
        AlertDescription::HandshakeFailure => "remote error: tls: handshake failure",
        AlertDescription::NoApplicationProtocol => "remote error: tls: no application protocol",
        AlertDescription::UnrecognisedName => "remote error: tls: unrecognized name",
        AlertDescription::AccessDenied => "remote error: tls: access denied",
        AlertDescription::InternalError => "remote error: tls: internal error",
        _ => return None,
    })
}
