//! The errors of a certificate and its key in two files.

use rustls_pki_types::UnixTime;

use super::date;

/// Why two files make no leaf. No error repeats what is in them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeafError {
    /// The certificate file has none, or one that is not X.509.
    #[error("the certificate file cannot be read: it must be X.509 certificates in PEM, the server's first")]
    NoCertificate,
    /// The certificate file has a key.
    #[error("the certificate file holds a private key and no certificate: are the two files swapped?")]
    Swapped,
    /// An END and a BEGIN on one line.
    #[error("two certificates of the certificate file are joined without a line break between them")]
    JoinedCertificates,
    /// Its key usage would not matter: no client takes it before that.
    #[error("the certificate file's certificate is not valid before {}", date(*not_before))]
    NotYetValid {
        /// When it begins to be valid.
        not_before: UnixTime,
    },
    /// No client takes it any more.
    #[error("the certificate file's certificate expired at {}", date(*not_after))]
    Expired {
        /// When it ceased to be valid.
        not_after: UnixTime,
    },
    /// The common name counts for nothing.
    #[error("the certificate file's certificate has no subject alternative names: no client takes it")]
    NoNames,
    /// The key file has none.
    #[error("the key file cannot be read: it must be one private key in PEM (PKCS#8, SEC1 or PKCS#1)")]
    NoKey,
    /// No TLS server here could sign with it.
    #[error(
        "the key file's key is of a kind that is not supported: use ECDSA (P-256, P-384, P-521), Ed25519, or RSA from 2048 bits on"
    )]
    KeyKind,
    /// The process cannot ask for a passphrase.
    #[error("the key file's key is encrypted: it must be a private key without passphrase")]
    EncryptedKey,
    /// TLS servers send the certificates in this order.
    #[error(
        "the certificate file's first certificate is not the one of the key: the server's must come before its CAs"
    )]
    Order,
    /// Half of a new pair beside half of an old one, or two pairs mixed up.
    #[error("the key file's key does not belong to the certificate file's certificate")]
    Mismatch,
}
