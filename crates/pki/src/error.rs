//! The errors of certificates. No error repeats a key.

mod leaf;

use std::time::Duration;

use rustls_pki_types::UnixTime;
use x509_cert::der::DateTime;

pub use leaf::LeafError;

/// Why an authority cannot be made, read, or cannot sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The text given as certificate holds none that can be read.
    #[error("the CA certificate cannot be read: it must be one X.509 certificate in PEM")]
    Certificate,
    /// The text given as key holds none that can be read.
    #[error("the CA key cannot be read: it must be one private key in PEM, not encrypted")]
    Key,
    /// The key is not the certificate's key.
    #[error("the CA key does not belong to the CA certificate")]
    Mismatch,
    /// The subject has a form that cannot be written again, as the issuer of a leaf, byte by byte.
    #[error(
        "leaves cannot be signed under the CA's subject: only plain attributes, each once, are understood"
    )]
    Subject,
    /// No client accepts a certificate without a name.
    #[error("a serving certificate needs at least one name")]
    NoNames,
    /// Neither an IP address nor a DNS name.
    #[error("`{name}` is neither an IP address nor a DNS name")]
    Name {
        /// As given.
        name: String,
    },
    /// The time or the life is outside the years that certificates can hold (1950 to 9999).
    #[error("the validity ends outside the years that a certificate can hold")]
    Time,
    /// The cryptographic library refused.
    #[error("signing failed: {0}")]
    Signing(String),
    /// A client would refuse the new certificate.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// Why a client would refuse a certificate; worded as what is wrong, since all clients say is `bad certificate`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No readable certificate: Go fails with `unable to parse bytes as PEM block`.
    #[error("the CA bundle holds no readable certificate in PEM")]
    EmptyBundle,
    /// An END and a BEGIN on one line, and no certificate besides the two: Go then reads no certificate at all.
    #[error("two certificates of the CA bundle are joined without a line break between them")]
    JoinedBundle,
    /// No certificate to check.
    #[error("the certificate chain is empty")]
    EmptyChain,
    /// Not an X.509 certificate.
    #[error("certificate {position} of the chain cannot be read")]
    Unreadable {
        /// From 1; the first one is the leaf.
        position: usize,
    },
    /// Go's parser refuses it, and so every handshake with a server that presents it.
    #[error("an API server cannot read certificate {position} of the chain: it {problem}")]
    Malformed {
        /// From 1; the first one is the leaf.
        position: usize,
        /// The predicate of a sentence: `has a negative serial number`.
        problem: &'static str,
    },
    /// `notBefore` is in the future.
    #[error("the {which} is not valid before {}", date(*not_before))]
    NotYetValid {
        /// `CA certificate` or `certificate`.
        which: &'static str,
        /// When it begins to be valid.
        not_before: UnixTime,
    },
    /// `notAfter` is in the past. Go checks the root's dates too.
    #[error("the {which} expired at {}", date(*not_after))]
    Expired {
        /// `CA certificate` or `certificate`.
        which: &'static str,
        /// When it ceased to be valid.
        not_after: UnixTime,
    },
    /// The bundle's certificate may not sign others.
    #[error(
        "the bundle's certificate is no CA: basic constraints, key usage or extended key usage forbid it"
    )]
    NotAnAuthority,
    /// An intermediate certificate may not sign others.
    #[error("an intermediate certificate is no CA: basic constraints or key usage forbid it")]
    IntermediateNotAnAuthority,
    /// Clients verify no such signature.
    #[error("the certificate is signed with an algorithm that clients refuse, such as SHA-1")]
    SignatureAlgorithm,
    /// No certificate of the bundle signed the chain.
    #[error("the certificate is signed by no CA of the bundle")]
    UnknownAuthority,
    /// More CAs between leaf and root than the root allows.
    #[error("the CA allows fewer intermediate certificates than the chain has")]
    PathLength,
    /// The extended key usage leaves out `serverAuth`.
    #[error("the certificate is not for servers: its extended key usage leaves serverAuth out")]
    Usage,
    /// The name is not among the subject alternative names; the common name counts for nothing.
    #[error("the certificate is not valid for `{name}`; it names {}", names(presented))]
    Name {
        /// The name asked for.
        name: String,
        /// The names that it is valid for.
        presented: Vec<String>,
    },
    /// The name asked for is neither an IP address nor a DNS name.
    #[error("`{name}` is neither an IP address nor a DNS name")]
    BadName {
        /// As given.
        name: String,
    },
    /// Anything else, in the words of the checking library.
    #[error("the certificate would be refused: {0}")]
    Other(String),
}

fn date(time: UnixTime) -> String {
    DateTime::from_unix_duration(Duration::from_secs(time.as_secs()))
        .map_or_else(|_| format!("second {}", time.as_secs()), |date| date.to_string())
}

fn names(presented: &[String]) -> String {
    if presented.is_empty() { "none".to_owned() } else { presented.join(", ") }
}
