//! A ring with its certificates and keys.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::ring::{CaId, Facts, LeafFacts, Moment, RingError};
use crate::{Authority, AuthorityError, Leaf, bundle};

/// A ring with its certificates, and the keys of the active and the next CA. No `Debug`: it holds keys, which are
/// erased when dropped.
pub struct Ring {
    pub(super) facts: Facts,
    pub(super) certificates: BTreeMap<CaId, CertificateDer<'static>>,
    pub(super) crosses: BTreeMap<CaId, CertificateDer<'static>>,
    pub(super) signers: BTreeMap<CaId, Authority>,
}

impl Ring {
    /// What [`step`](crate::ring::step) knows of it.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its certificate of this name.
    #[must_use]
    pub fn certificate(&self, id: CaId) -> Option<&CertificateDer<'static>> {
        self.certificates.get(&id)
    }

    /// The `caBundle`: every certificate in the order of their ids, each ending in a line break.
    #[must_use]
    pub fn bundle_pem(&self) -> String {
        self.certificates.values().map(bundle::pem).collect()
    }

    /// Signs what [`Action::SignLeaf`](crate::ring::Action::SignLeaf) asks for, and verifies it against each CA that its
    /// chain is to end at.
    ///
    /// # Errors
    /// A leaf of a CA that does not sign here; a name outside the CA's constraint; a chain that clients would refuse.
    pub fn sign(&self, leaf: &LeafFacts, names: &[impl AsRef<str>], now: Moment) -> Result<Leaf, RingError> {
        let signer = self.signers.get(&leaf.issuer).ok_or(RingError::Unknown(leaf.issuer))?;
        let cross = leaf.bridge.and_then(|_| self.crosses.get(&leaf.issuer));
        let signed = signer.issue_with(names, unix(now), unix(leaf.not_after), cross)?;
        if let (Some(bridge), Some(_)) = (leaf.bridge, cross) {
            let predecessor = self.certificates.get(&bridge).ok_or(RingError::Unknown(bridge))?;
            crate::verify(&bundle::pem(predecessor), &signed.chain, names, unix(now))?;
        }
        Ok(signed)
    }
}

impl CaId {
    /// The name of a certificate.
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        let digest = digest(&SHA256, certificate);
        let bytes = digest.as_ref().first_chunk().copied().unwrap_or_default();
        Self(u64::from_be_bytes(bytes))
    }
}

impl std::fmt::Display for CaId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Every certificate of a bundle under its name; what Go passes over is passed over.
#[must_use]
pub fn read_bundle(pem: &str) -> BTreeMap<CaId, CertificateDer<'static>> {
    let certificates = bundle::certificates(pem).unwrap_or_default();
    certificates.into_iter().map(|certificate| (CaId::of(&certificate), certificate)).collect()
}

pub(super) fn unix(moment: Moment) -> UnixTime {
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(moment.0))
}

pub(super) fn moment(time: UnixTime) -> Moment {
    Moment(time.as_secs())
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], AuthorityError> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| AuthorityError::Signing("no random numbers".to_owned()))?;
    Ok(bytes)
}
