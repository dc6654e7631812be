//! A certificate to present, with its key.

use std::net::IpAddr;

use rcgen::PublicKeyData;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use zeroize::Zeroizing;

use crate::certificate::Certificate;
use crate::{LeafError, bundle, key};

/// A serving certificate and its key, verified when it was made. No `Debug`: it holds a key.
#[non_exhaustive]
pub struct Leaf {
    /// The leaf, then the certificates between it and the CA.
    pub chain: Vec<CertificateDer<'static>>,
    /// PKCS#8, erased when dropped.
    pub key: Zeroizing<PrivateKeyDer<'static>>,
    /// The first second of its validity: some time before it was made, for clients whose clock is behind.
    pub not_before: UnixTime,
    /// The last second of its validity, never after the CA's.
    pub not_after: UnixTime,
    /// The DNS names and IP addresses that it is valid for.
    pub names: Vec<String>,
}

impl Leaf {
    /// A leaf of another issuer, from the contents of two files: its chain, leaf first, and its key (PKCS#8, SEC1 or
    /// PKCS#1, not encrypted). Names and dates are read from the certificate; its signature is not verified.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use rustls_pki_types::UnixTime;
    /// # use vestibule_pki::{Authority, Leaf, LeafError};
    /// # let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
    /// let authority = Authority::new("example CA", now, Duration::from_secs(3600))?;
    /// let [one, other] = ["one.svc", "other.svc"].map(|name| authority.issue(&[name], now, Duration::MAX));
    /// let (one, other) = (one?, other?);
    ///
    /// let read = Leaf::from_pem(&one.chain_pem(), &one.key_pem(), now)?;
    /// assert_eq!(read.names, ["one.svc"]);
    /// let torn = Leaf::from_pem(&one.chain_pem(), &other.key_pem(), now);
    /// assert_eq!(torn.err(), Some(LeafError::Mismatch));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The defect, and the file that has it: nothing readable, a key of another certificate, a certificate
    /// without names or outside its validity.
    pub fn from_pem(chain: &str, key: &str, now: UnixTime) -> Result<Self, LeafError> {
        if bundle::is_joined(chain) {
            return Err(LeafError::JoinedCertificates);
        }
        let chain = bundle::certificates(chain).map_err(|_| match chain.contains("PRIVATE KEY-----") {
            true => LeafError::Swapped,
            false => LeafError::NoCertificate,
        })?;
        let all: Option<Vec<_>> = chain.iter().map(Certificate::read).collect();
        let Some([leaf, intermediates @ ..]) = all.as_deref() else {
            return Err(LeafError::NoCertificate);
        };
        let (not_before, not_after) = (leaf.not_before(), leaf.not_after());
        if key.contains("-----BEGIN ENCRYPTED") || key.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(LeafError::EncryptedKey);
        }
        let key = key::read(key).ok_or(LeafError::NoKey)?;
        let pair = key::pair(&key).ok_or(LeafError::KeyKind)?;
        let public_key = Some(pair.subject_public_key_info());
        if public_key != leaf.public_key() {
            let is_later = intermediates.iter().any(|certificate| certificate.public_key() == public_key);
            return Err(if is_later { LeafError::Order } else { LeafError::Mismatch });
        }
        if now < not_before {
            return Err(LeafError::NotYetValid { not_before });
        }
        if now > not_after {
            return Err(LeafError::Expired { not_after });
        }
        let names = leaf.names();
        if names.is_empty() {
            return Err(LeafError::NoNames);
        }
        Ok(Self { chain, key, not_before, not_after, names })
    }

    /// The chain in PEM, leaf first: a `tls.crt`.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(bundle::pem).collect()
    }

    /// The key as PKCS#8 in PEM: a `tls.key`.
    #[must_use]
    pub fn key_pem(&self) -> Zeroizing<String> {
        key::pem(self.key.secret_der())
    }

    /// Whether a client that asks for this DNS name or IP address takes it: `*.domain` serves one more label.
    #[must_use]
    pub fn serves(&self, name: &str) -> bool {
        let address = name.parse::<IpAddr>().ok();
        self.names.iter().any(|own| match (address, own.strip_prefix("*.")) {
            (Some(address), _) => own.parse() == Ok(address),
            (None, Some(domain)) => {
                name.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain))
            }
            (None, None) => own.eq_ignore_ascii_case(name),
        })
    }
}
