//! Why a call got no answer.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use rustls::CertificateError::{
    BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
    NotValidYetContext, UnknownIssuer,
};
use thiserror::Error;

use crate::hook::Hook;
use crate::outcome::{Failed, Outcome};

/// Why a call got no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The connection was not accepted.
    #[error("no connection to {address} for {url}: {source}; is the webhook listening there?")]
    Connect {
        /// The URL of the call.
        url: String,
        /// The address of the server.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The TLS handshake failed, most often because of the certificate.
    #[error("TLS handshake for {url} failed: {source}; compare the server's certificate with the CA bundle")]
    Tls {
        /// The URL of the call.
        url: String,
        /// The error of the TLS library.
        source: io::Error,
    },
    /// The connection ended before the answer did.
    #[error("the connection broke before {url} had answered: {source}")]
    Broken {
        /// The URL of the call.
        url: String,
        /// The error of the HTTP library.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No answer in time, retries included.
    #[error(
        "timeout: {url} did not answer in time; raise the timeout or look at the webhook's own duration metric"
    )]
    Deadline {
        /// The URL of the call.
        url: String,
    },
}

impl CallError {
    /// The outcome at kube-apiserver: a failure about which the failure policy decides.
    pub fn outcome(&self, hook: &Hook) -> Outcome {
        let (url, why) = match self {
            Self::Connect { url, address, source } => {
                (url, format!("dial tcp {address}: connect: {}", go_words(source)))
            }
            Self::Tls { url, source } => (url, handshake(source)),
            Self::Broken { url, .. } => (url, "EOF".to_owned()),
            Self::Deadline { url } => (url, "context deadline exceeded".to_owned()),
        };
        Outcome::Failed(Failed::calling(hook, &format!("failed to call webhook: Post {url:?}: {why}")))
    }

    pub(super) fn broken(url: String, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Broken { url, source: source.into() }
    }
}

fn go_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        _ => error.to_string(),
    }
}

/// Go's text for a failed handshake.
fn handshake(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return go_words(error);
    };
    let rustls::Error::InvalidCertificate(certificate) = tls else { return format!("tls: {tls}") };
    let why = match certificate {
        // For a CA with the issuer's name and another key, rustls says bad signature and Go unknown authority.
        UnknownIssuer | BadSignature => "certificate signed by unknown authority".to_owned(),
        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        NotValidForNameContext { expected, presented } => {
            format!("certificate is valid for {}, not {}", names(presented), expected.to_str())
        }
        NotValidForName => "certificate is not valid for this name".to_owned(),
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// rustls writes a name as `DnsName("a.b")`, Go as `a.b`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    presented.iter().map(bare).collect::<Vec<_>>().join(", ")
}
