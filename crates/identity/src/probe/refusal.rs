//! Why a connection would be refused: in our words, in Go's, and what to do.

use std::fmt;

/// One reason for which kube-apiserver would not call the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The kind of reason.
    pub cause: Cause,
    /// The reason.
    pub message: String,
    /// How kube-apiserver puts it, where that is known to the letter.
    pub go: Option<String>,
    /// The step that resolves it.
    pub advice: String,
}

/// A kind of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The bundle holds no certificate.
    EmptyBundle,
    /// Two certificates of the bundle are joined.
    JoinedBundle,
    /// The leaf, or something between it and the CA, has ended.
    Expired,
    /// The CA has ended.
    AuthorityExpired,
    /// Something begins later.
    NotYetValid,
    /// The certificate has other names.
    WrongName,
    /// The certificate has a common name and no subject alternative names.
    LegacyCommonName,
    /// Signed by a CA that is not in the bundle.
    UnknownAuthority,
    /// The bundle's certificate is no CA.
    NotAnAuthority,
    /// The CA may not sign these names.
    NameConstraint,
    /// Too many CAs in between.
    PathLength,
    /// Not for servers.
    Usage,
    /// The server does not hold the key of its certificate.
    Signature,
    /// It is no TLS.
    NotTls,
    /// TLS older than 1.2.
    TlsTooOld,
    /// The server insists on a client certificate.
    ClientCertificate,
    /// The server sent an alert.
    Alert,
    /// The server hung up or went silent in the handshake.
    Broken,
    /// Something else.
    Other,
}

impl Cause {
    /// A word for scripts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyBundle => "empty_bundle",
            Self::JoinedBundle => "joined_bundle",
            Self::Expired => "expired",
            Self::AuthorityExpired => "authority_expired",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongName => "wrong_name",
            Self::LegacyCommonName => "legacy_common_name",
            Self::UnknownAuthority => "unknown_authority",
            Self::NotAnAuthority => "not_an_authority",
            Self::NameConstraint => "name_constraint",
            Self::PathLength => "path_length",
            Self::Usage => "usage",
            Self::Signature => "signature",
            Self::NotTls => "not_tls",
            Self::TlsTooOld => "tls_too_old",
            Self::ClientCertificate => "client_certificate",
            Self::Alert => "alert",
            Self::Broken => "broken",
            Self::Other => "other",
        }
    }
}

impl Refusal {
    pub(super) fn new(cause: Cause, message: String, advice: &str) -> Self {
        Self { cause, message, go: None, advice: advice.to_owned() }
    }

    /// Certificates come to crypto/tls, which puts its own words in front of those of crypto/x509.
    pub(super) fn in_go(mut self, text: &str) -> Self {
        let verification =
            if text.starts_with("x509: ") { "tls: failed to verify certificate: " } else { "" };
        self.go = Some(format!("{verification}{text}"));
        self
    }

    pub(super) fn root_certificates(self) -> Self {
        self.in_go("unable to load root certificates: unable to parse bytes as PEM block")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
