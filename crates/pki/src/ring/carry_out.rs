//! Carries out a change of the ring: makes keys, signs, and verifies the result.

use std::collections::BTreeMap;

use crate::authority::earlier;
use crate::certificate::Certificate;
use crate::ring::with_keys::{moment, unix};
use crate::ring::{Change, Facts, KeySource, LeafFacts, Moment, Policy, Ring, RingError};

/// The ring after a change: new keys are made, the cross-signed certificate is signed, keys of CAs that no longer sign are
/// erased, and every chain that the ring can give is verified as a client would. For [`Change::Restore`] the ring is the remembered one.
///
/// # Errors
/// A change that does not fit, a certificate that is missing, or a ring that clients would refuse.
pub fn carry_out(
    change: &Change,
    ring: Option<Ring>,
    keys: &mut KeySource,
    now: Moment,
    policy: &Policy,
) -> Result<Ring, RingError> {
    let facts = change.apply(ring.as_ref().map(Ring::facts), now, policy, keys);
    let facts = facts.ok_or_else(|| keys.failure.take().map_or(RingError::Outdated, Into::into))?;
    let mut next = with_certificates(facts, ring, keys)?;
    next.cross(now)?;
    // Dropping a signer erases its key.
    let signing: Vec<_> = next.facts.signing().map(|ca| ca.id).collect();
    next.signers.retain(|id, _| signing.contains(id));
    next.check(now, policy)?;
    Ok(next)
}

/// Collects the certificates and keys that the facts name, from the ring or the key source.
fn with_certificates(mut facts: Facts, ring: Option<Ring>, keys: &mut KeySource) -> Result<Ring, RingError> {
    let mut certificates = BTreeMap::new();
    for ca in &mut facts.authorities {
        let stored = ring.as_ref().and_then(|ring| ring.certificate(ca.id));
        let certificate =
            stored.or_else(|| keys.certificate(ca.id)).ok_or(RingError::Unknown(ca.id))?.clone();
        // The certificate has the exact dates; `Change::apply` only estimates them.
        if let Some(read) = Certificate::read(&certificate) {
            ca.not_after = moment(read.not_after());
            ca.not_before = moment(read.not_before());
        }
        certificates.insert(ca.id, certificate);
    }
    let (mut signers, crosses) = ring.map(|ring| (ring.signers, ring.crosses)).unwrap_or_default();
    signers.append(&mut keys.made);
    Ok(Ring { facts, certificates, crosses, signers })
}

impl Ring {
    /// Signs the cross-signed certificate that a promotion needs, and drops the ones that no CA of the ring refers to.
    fn cross(&mut self, now: Moment) -> Result<(), RingError> {
        let cross_signed: BTreeMap<_, _> = self
            .facts
            .authorities
            .iter()
            .filter_map(|ca| Some((ca.id, ca.cross_signature?.issuer)))
            .collect();
        self.crosses.retain(|id, _| cross_signed.contains_key(id));
        for (id, issuer) in cross_signed {
            if let std::collections::btree_map::Entry::Vacant(place) = self.crosses.entry(id) {
                let issuer = self.signers.get(&issuer).ok_or(RingError::Unknown(issuer))?;
                let successor = self.signers.get(&id).ok_or(RingError::Unknown(id))?;
                place.insert(issuer.cross(successor, earlier(unix(now)))?);
            }
        }
        Ok(())
    }

    /// Verifies every chain that the ring can give, as a client with its bundle would.
    pub(super) fn check(&self, now: Moment, policy: &Policy) -> Result<(), RingError> {
        for ca in self.facts.signing() {
            let leaf = LeafFacts {
                issuer: ca.id,
                cross_signature: ca.crossed_by(now).filter(|issuer| self.facts.authority(*issuer).is_some()),
                renew: now,
                not_before: now,
                not_after: now.plus(policy.leaf_life),
            };
            let names = [self.probe(ca.id)];
            let probe = self.sign(&leaf, &names, now)?;
            crate::verify(&self.bundle_pem(), &probe.chain, &names, unix(now))?;
        }
        Ok(())
    }
}
