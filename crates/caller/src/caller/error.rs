//! Why there is no caller, or no answer.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use rustls::CertificateError::{
    BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
    NotValidYetContext, UnknownIssuer,
};
use thiserror::Error;

use crate::outcome::Failed;
use crate::{Hook, Outcome};

/// Why there is no caller.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// kube-apiserver's words for it: `unable to load root certificates: unable to parse bytes as PEM block`.
    #[error("the CA bundle holds no certificate, or a broken one; give one or more PEM certificates")]
    Bundle,
    /// Neither a DNS name nor an IP address.
    #[error("{name:?} is no DNS name or IP address; a Service's is NAME.NAMESPACE.svc")]
    ServerName {
        /// What was given.
        name: String,
    },
    /// The TLS library refused its own defaults.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[source] Box<dyn Error + Send + Sync>),
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody took the connection.
    #[error("no connection to {address} for {url}: {source}; is the webhook listening there?")]
    Connect {
        /// What was called.
        url: String,
        /// Where it was expected.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The TLS handshake failed, most often because of the certificate.
    #[error("TLS handshake for {url} failed: {source}; compare the server's certificate with the CA bundle")]
    Tls {
        /// What was called.
        url: String,
        /// What the TLS library says.
        source: io::Error,
    },
    /// The connection ended before the answer did.
    #[error("the connection broke before {url} had answered: {source}")]
    Broken {
        /// What was called.
        url: String,
        /// What the HTTP library says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No answer in time, retries included.
    #[error("{url} did not answer in time; raise the timeout or look at the webhook's own duration metric")]
    Deadline {
        /// What was called.
        url: String,
    },
}

impl CallError {
    /// What kube-apiserver makes of it: a failure that the failure policy decides about.
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

    /// What would be made of a call that was never sent.
    pub(crate) fn unsent(hook: &Hook) -> Outcome {
        Outcome::Failed(Failed::calling(hook, "this client had no place for the call in time"))
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

/// Go's words for what it finds wrong with a certificate.
fn handshake(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return go_words(error);
    };
    let rustls::Error::InvalidCertificate(certificate) = tls else { return format!("tls: {tls}") };
    let why = match certificate {
        // A certificate in the bundle with the issuer's name and another key is a bad signature here, not there.
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

/// `DnsName("a.b")` is how the TLS library writes a name; Go writes `a.b`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    presented.iter().map(bare).collect::<Vec<_>>().join(", ")
}
