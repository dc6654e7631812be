//! The facts about a ring: ids, states and times, without certificates and keys.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ring::Moment;

/// The name of a CA certificate: the first eight bytes of its SHA-256. A new CA has a new key, so no name comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaId(pub u64);

/// The family of a ring: drawn at random when a ring is created out of nothing. Generations of two lineages do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lineage(pub u64);

/// The content of the ring's Secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RingFacts {
    /// There is no Secret, or an empty one.
    Absent,
    /// The Secret cannot be used.
    Unreadable,
    /// Written by a newer version: replicas sign with it and never write it. Without facts if this version cannot read it.
    Newer(Option<Facts>),
    /// A ring.
    Known(Facts),
}

impl RingFacts {
    /// The ring, if there is a readable one.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        match self {
            Self::Known(facts) | Self::Newer(Some(facts)) => Some(facts),
            Self::Absent | Self::Unreadable | Self::Newer(None) => None,
        }
    }
}

/// A ring: exactly one active CA, exactly one next, any number of others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Its family.
    pub lineage: Lineage,
    /// Grows with every change of the trusted CAs or of the signing one.
    pub generation: u64,
    /// When the active CA is to be replaced.
    pub due: Moment,
    /// The request for a rotation.
    pub rotation: Request,
    /// The request to revoke all keys.
    pub revocation: Request,
    /// When the ring was last restored with a rotation to follow, by any replica.
    pub restored: Option<Moment>,
    /// Revoked CAs. No replica adds them again, not even one that still presents a leaf of such a CA.
    pub revoked: BTreeSet<CaId>,
    /// The CAs that this ring made, and those that a replica of it signed with; the newest last, at most
    /// 200. Only these are taken from a configuration into the bundle of another one.
    pub made: Vec<CaId>,
    /// In the order of their ids.
    pub authorities: Vec<AuthorityFacts>,
}

/// The annotations of a configuration: which ring's bundle it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BundleMark {
    /// Annotation `ca-lineage`.
    pub lineage: Lineage,
    /// Annotation `ca-generation`.
    pub generation: u64,
}

/// A request, written on the Secret as an annotation with any value, and the value that was last fulfilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// A digest of the annotation's value; 0 if there is none.
    pub asked: u64,
    /// The digest that was last fulfilled.
    pub answered: u64,
}

impl Request {
    /// Whether the request is not fulfilled yet.
    #[must_use]
    pub fn is_open(self) -> bool {
        self.asked != 0 && self.asked != self.answered
    }
}

/// One CA of a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorityFacts {
    /// Its name.
    pub id: CaId,
    /// Its state.
    pub state: AuthorityState,
    /// The first second of its validity. It is in the future if the API server's clock was set back after the CA was made.
    pub not_before: Moment,
    /// The last second of its validity.
    pub not_after: Moment,
    /// Since when every kube-apiserver knows it (rule H1).
    pub held: Option<Moment>,
    /// Its cross-signed certificate, if a predecessor signed one.
    pub cross_signature: Option<CrossSignature>,
}

/// A CA's cross-signed certificate: the same key, signed by its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrossSignature {
    /// The predecessor.
    pub issuer: CaId,
    /// The last second of its validity.
    pub not_after: Moment,
}

/// The state of a CA in a ring. All are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthorityState {
    /// Published in every `caBundle` before it signs.
    Next,
    /// Signs leaves.
    Active,
    /// Signed leaves before; its key is erased.
    Retired {
        /// From then on every leaf of this CA has expired.
        until: Moment,
    },
    /// Trusted without a key: adopted after a discontinuity, or unknown and kept.
    Foreign {
        /// The end of its quarantine.
        until: Moment,
    },
}

/// The role of a CA: its state without dates. Its words stand in `ring.json`, so a new or renamed role is a new schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Role {
    /// Signs.
    Active,
    /// Will sign.
    Next,
    /// Has signed.
    Retired,
    /// Trusted without a key: adopted or unknown.
    Foreign,
}

impl Role {
    /// As in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Next => "next",
            Self::Retired => "retired",
            Self::Foreign => "foreign",
        }
    }
}

impl AuthorityState {
    /// The role, and the end of the trust if it has one.
    #[must_use]
    pub fn role(self) -> (Role, Option<Moment>) {
        match self {
            Self::Next => (Role::Next, None),
            Self::Active => (Role::Active, None),
            Self::Retired { until } => (Role::Retired, Some(until)),
            Self::Foreign { until } => (Role::Foreign, Some(until)),
        }
    }
}

impl AuthorityFacts {
    /// Whether its key is in the ring.
    pub(super) fn signs(&self) -> bool {
        matches!(self.state, AuthorityState::Active | AuthorityState::Next)
    }

    /// The issuer of its cross-signed certificate, while that is valid.
    pub(super) fn crossed_by(&self, now: Moment) -> Option<CaId> {
        let valid = self.cross_signature.filter(|cross_signature| cross_signature.not_after > now);
        valid.map(|cross_signature| cross_signature.issuer)
    }

    /// Whether it is of another ring.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        matches!(self.state, AuthorityState::Foreign { .. })
    }
}

impl Facts {
    /// The annotations of a configuration that holds the bundle of this ring.
    #[must_use]
    pub fn mark(&self) -> BundleMark {
        BundleMark { lineage: self.lineage, generation: self.generation }
    }

    /// The CA that signs.
    #[must_use]
    pub fn active(&self) -> Option<&AuthorityFacts> {
        self.authorities.iter().find(|ca| ca.state == AuthorityState::Active)
    }

    /// The CA that will sign next.
    #[must_use]
    pub fn next(&self) -> Option<&AuthorityFacts> {
        self.authorities.iter().find(|ca| ca.state == AuthorityState::Next)
    }

    /// The CAs whose keys are in the ring, the active one first.
    pub(super) fn signing(&self) -> impl Iterator<Item = &AuthorityFacts> {
        self.active().into_iter().chain(self.next())
    }

    /// One CA by its name.
    #[must_use]
    pub fn authority(&self, id: CaId) -> Option<&AuthorityFacts> {
        self.authorities.iter().find(|ca| ca.id == id)
    }

    /// Whether the CA is in the ring or was revoked; neither is added again.
    pub(super) fn knows(&self, id: CaId) -> bool {
        self.authority(id).is_some() || self.revoked.contains(&id)
    }

    /// Every CA of the ring.
    #[must_use]
    pub fn trusted(&self) -> BTreeSet<CaId> {
        self.authorities.iter().map(|ca| ca.id).collect()
    }

    /// Whether this CA was found in a configuration and this ring did not make it: it stays trusted in that configuration
    /// and is written into no other.
    pub(super) fn is_imported(&self, ca: &AuthorityFacts) -> bool {
        ca.is_foreign() && !self.made.contains(&ca.id)
    }

    /// The bundle of a configuration that holds these CAs now: every CA of the ring, without imported ones that this
    /// configuration does not hold.
    #[must_use]
    pub fn bundle_over(&self, held: impl Fn(CaId) -> bool) -> BTreeSet<CaId> {
        let fits = |ca: &&AuthorityFacts| !self.is_imported(ca) || held(ca.id);
        self.authorities.iter().filter(fits).map(|ca| ca.id).collect()
    }

    /// The bundle without any imported CA: that of a configuration that holds nothing yet.
    #[must_use]
    pub fn bundle(&self) -> BTreeSet<CaId> {
        self.bundle_over(|_| false)
    }

    /// Adds a CA to `made`.
    pub(super) fn remember(&mut self, id: CaId) {
        /// More than five years of rotations with the shortest supported life.
        const MOST_MADE: usize = 200;
        if !self.made.contains(&id) {
            self.made.push(id);
            let surplus = self.made.len().saturating_sub(MOST_MADE);
            self.made.drain(..surplus);
        }
    }

    /// The CAs of the ring that verify a leaf of the active CA: the active CA, and the CA that cross-signed it.
    pub fn anchors(&self, now: Moment) -> impl Iterator<Item = &AuthorityFacts> {
        let active = self.active();
        let predecessor = active.and_then(|ca| self.authority(ca.crossed_by(now)?));
        active.into_iter().chain(predecessor)
    }

    /// Whether leaves of a retired CA may still be valid.
    #[must_use]
    pub fn is_overlapping(&self) -> bool {
        self.authorities.iter().any(|ca| matches!(ca.state, AuthorityState::Retired { .. }))
    }
}
