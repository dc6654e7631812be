//! A ring with its certificates and keys. `facts` has the same ring without them.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::certificate::Certificate;
use crate::ring::{CaId, Facts, LeafFacts, Lineage, Moment, Request, RingError};
use crate::{Authority, AuthorityError, Bundle, Leaf, bundle};

/// A ring with its certificates, and the keys of the active and the next CA. No `Debug`: it holds keys, which are
/// erased when dropped.
pub struct Ring {
    pub(super) facts: Facts,
    pub(super) certificates: BTreeMap<CaId, CertificateDer<'static>>,
    pub(super) crosses: BTreeMap<CaId, CertificateDer<'static>>,
    pub(super) signers: BTreeMap<CaId, Authority>,
}

impl Ring {
    /// The facts for [`step`](crate::ring::step).
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its certificate of this name.
    #[must_use]
    pub fn certificate(&self, id: CaId) -> Option<&CertificateDer<'static>> {
        self.certificates.get(&id)
    }

    /// The `caBundle` of a configuration that holds nothing yet: certificates in the order of their ids, each ending in a
    /// line break, without imported ones.
    #[must_use]
    pub fn bundle_pem(&self) -> String {
        self.bundle_pem_over(|_| false)
    }

    /// The `caBundle` of a configuration that holds these CAs now: see [`Facts::bundle_over`].
    #[must_use]
    pub fn bundle_pem_over(&self, held: impl Fn(CaId) -> bool) -> String {
        let bundle = self.facts.bundle_over(held);
        Bundle::pem(self.certificates.iter().filter(|(id, _)| bundle.contains(id)).map(|(_, der)| der))
    }

    /// Signs what [`Action::SignLeaf`](crate::ring::Action::SignLeaf) asks for, and verifies it against each CA that its
    /// chain is to end at.
    ///
    /// # Errors
    /// A leaf of a CA that does not sign here; a name outside the CA's constraint; a chain that clients would refuse.
    pub fn sign(&self, leaf: &LeafFacts, names: &[impl AsRef<str>], now: Moment) -> Result<Leaf, RingError> {
        let signer = self.signers.get(&leaf.issuer).ok_or(RingError::Unknown(leaf.issuer))?;
        let cross = leaf.cross_signature.and_then(|_| self.crosses.get(&leaf.issuer));
        let signed = signer.issue_with(names, unix(now), unix(leaf.not_after), cross)?;
        // A predecessor that was removed is trusted by configurations that were not reached; its cross was verified when
        // it was made.
        let predecessor = cross
            .and(leaf.cross_signature)
            .and_then(|cross_signature| self.certificates.get(&cross_signature));
        if let Some(predecessor) = predecessor {
            crate::verify(&bundle::pem(predecessor), &signed.chain, names, unix(now))?;
        }
        Ok(signed)
    }

    /// Whether the name constraints of the active CA, and of the predecessor that crossed it, permit this DNS name or IP
    /// address. A leaf with one other name is refused whole by Go: leave such names out.
    #[must_use]
    pub fn permits(&self, name: &str) -> bool {
        self.facts.active().is_some_and(|active| self.permits_below(active.id, name))
    }

    fn permits_below(&self, id: CaId, name: &str) -> bool {
        let cross_signature = self.facts.authority(id).and_then(|ca| ca.cross_signature);
        let chain = [Some(id), cross_signature.map(|cross_signature| cross_signature.issuer)];
        let mut certificates = chain.into_iter().flatten().filter_map(|id| self.certificates.get(&id));
        certificates.all(|der| Certificate::read(der).is_some_and(|certificate| certificate.permits(name)))
    }

    /// A name that this CA may sign, independent of the current serving names.
    pub(super) fn probe(&self, id: CaId) -> String {
        let certificate = self.certificates.get(&id).and_then(Certificate::read);
        let domains = certificate.map(|certificate| certificate.domains()).unwrap_or_default();
        let mut names = domains.iter().map(|domain| format!("probe.{}", domain.trim_start_matches('.')));
        names
            .find(|name| self.permits_below(id, name))
            // Two CAs without a common domain still agree on addresses, which neither constrains.
            .unwrap_or_else(|| "127.0.0.1".to_owned())
    }
}

impl CaId {
    /// The name of a certificate.
    #[must_use]
    pub fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(first_bytes(certificate))
    }
}

impl Request {
    /// A digest of a request annotation's value; 0 if it is absent or empty.
    ///
    /// ```
    /// use vestibule_pki::ring::Request;
    ///
    /// assert_eq!(Request::digest(None), 0);
    /// assert_ne!(Request::digest(Some("today")), Request::digest(Some("tomorrow")));
    /// ```
    #[must_use]
    pub fn digest(value: Option<&str>) -> u64 {
        let value = value.map(str::trim).filter(|value| !value.is_empty());
        // 0 means that there is no request, so no value has it as its digest.
        value.map_or(0, |value| first_bytes(value.as_bytes()).max(1))
    }
}

impl std::fmt::Display for CaId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::fmt::Display for Lineage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Every certificate of a bundle under its name; what Go passes over is passed over. [`Bundle`] says more.
#[must_use]
pub fn read_bundle(pem: &str) -> BTreeMap<CaId, CertificateDer<'static>> {
    Bundle::read(pem.as_bytes()).certificates
}

fn first_bytes(text: &[u8]) -> u64 {
    let digest = digest(&SHA256, text);
    u64::from_be_bytes(digest.as_ref().first_chunk().copied().unwrap_or_default())
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
