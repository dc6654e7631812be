//! The algorithms of CA keys.

use std::str::FromStr;

use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, SignatureAlgorithm};
use zeroize::Zeroizing;

use crate::AuthorityError;

/// The kind of key that new CAs get. A change takes effect with the next CA that is made; a leaf has the
/// algorithm of the CA that signs it, so a chain has one algorithm.
///
/// ```
/// use vestibule_pki::ring::Algorithm;
///
/// assert_eq!("P-384".parse(), Ok(Algorithm::P384));
/// assert_eq!(Algorithm::default().to_string(), "p256");
/// assert!("rsa".parse::<Algorithm>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256: the fastest wherever Go runs, and on every list of approved algorithms.
    #[default]
    P256,
    /// ECDSA on P-384 with SHA-384.
    P384,
}

impl Algorithm {
    /// The algorithm of leaves below a CA with this key.
    pub(crate) fn below(authority: &KeyPair) -> Self {
        if authority.algorithm() == &PKCS_ECDSA_P384_SHA384 { Self::P384 } else { Self::P256 }
    }

    pub(crate) fn generate(self) -> Result<Zeroizing<KeyPair>, AuthorityError> {
        let key = KeyPair::generate_for(self.signature()).map(Zeroizing::new);
        key.map_err(|error| AuthorityError::Signing(error.to_string()))
    }

    fn signature(self) -> &'static SignatureAlgorithm {
        match self {
            Self::P256 => &PKCS_ECDSA_P256_SHA256,
            Self::P384 => &PKCS_ECDSA_P384_SHA384,
        }
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
        })
    }
}

/// Why a name is not taken as an [`Algorithm`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgorithmError {
    /// RSA is not made, though it is verified.
    #[error(
        "RSA keys are not made: they are thousands of times dearer than P-256 ones and larger in every handshake; use p256 or p384"
    )]
    Rsa,
    /// kube-apiserver in FIPS builds refuses it.
    #[error("Ed25519 keys are not made: not every API server accepts them; use p256 or p384")]
    Ed25519,
    /// No such algorithm.
    #[error("`{0}` is no algorithm for CA keys: use p256 or p384")]
    Unknown(String),
}

impl FromStr for Algorithm {
    type Err = AlgorithmError;

    fn from_str(name: &str) -> Result<Self, AlgorithmError> {
        match name.to_ascii_lowercase().as_str() {
            "p256" | "p-256" => Ok(Self::P256),
            "p384" | "p-384" => Ok(Self::P384),
            "ed25519" => Err(AlgorithmError::Ed25519),
            rsa if rsa.starts_with("rsa") => Err(AlgorithmError::Rsa),
            _ => Err(AlgorithmError::Unknown(name.to_owned())),
        }
    }
}
