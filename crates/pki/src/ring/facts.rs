//! What is known about a ring, without its certificates and keys.

use std::collections::BTreeSet;

use crate::ring::Moment;

/// The name of a CA certificate: the first eight bytes of its SHA-256. A new CA has a new key, so no name comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaId(pub u64);

/// The family of a ring: drawn at random when a ring is created out of nothing. Generations of two lineages do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lineage(pub u64);

/// What the ring's Secret was found to hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RingFacts {
    /// There is no Secret, or an empty one.
    Absent,
    /// There is one that cannot be used.
    Unreadable,
    /// Written by a newer version: it is used and never written. Without facts when not even that much is understood.
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
    /// Grows with every change of what is trusted or who signs.
    pub generation: u64,
    /// When the active CA is to be replaced.
    pub due: Moment,
    /// Somebody asks for a rotation.
    pub rotation: Request,
    /// Somebody says that the keys were stolen.
    pub revocation: Request,
    /// When it was last restored with a rotation to follow; every replica reads it, whoever did it.
    pub restored: Option<Moment>,
    /// CAs whose keys were stolen once: nobody brings them back, not even a replica that serves with them yet.
    pub revoked: BTreeSet<CaId>,
    /// The CAs that this ring made, and those that a replica of it signed with; the newest last, at most
    /// [`MOST_MADE`](Self::MOST_MADE). Only these are taken from a configuration into the bundle of another one.
    pub made: Vec<CaId>,
    /// In the order of their ids.
    pub authorities: Vec<AuthorityFacts>,
}

/// A wish, written on the Secret as an annotation with any value, and the value last fulfilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// A digest of the annotation's value; 0 if there is none.
    pub asked: u64,
    /// The digest that was last fulfilled.
    pub answered: u64,
}

impl Request {
    /// Whether it waits to be fulfilled.
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
    /// What it is there for.
    pub state: AuthorityState,
    /// The first second of its validity. It lies ahead when the API server's clock was set back after the CA was made.
    pub not_before: Moment,
    /// The last second of its validity.
    pub not_after: Moment,
    /// Since when it counts as known to every kube-apiserver (rule H1).
    pub held: Option<Moment>,
    /// Its cross certificate, if a predecessor signed one.
    pub cross_signature: Option<CrossSignature>,
}

/// A CA's cross certificate: the same key, signed by its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrossSignature {
    /// The predecessor.
    pub issuer: CaId,
    /// The last second of its validity.
    pub not_after: Moment,
}

/// What a CA of a ring is there for. All of them are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AuthorityState {
    /// Published long before it signs anything.
    Next,
    /// Signs.
    Active,
    /// Signed before; its key is gone.
    Retired {
        /// From then on no leaf of its can be alive.
        until: Moment,
    },
    /// Of another ring, trusted only.
    Foreign {
        /// The end of its quarantine.
        until: Moment,
    },
}

impl AuthorityFacts {
    /// Whether its key is in the ring.
    pub(super) fn signs(&self) -> bool {
        matches!(self.state, AuthorityState::Active | AuthorityState::Next)
    }

    /// Whether it is of another ring.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        matches!(self.state, AuthorityState::Foreign { .. })
    }
}

impl Facts {
    /// So many CAs are remembered as the ring's own: with the shortest lives that are supported, more than five years.
    pub const MOST_MADE: usize = 200;

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

    /// One CA by its name.
    #[must_use]
    pub fn authority(&self, id: CaId) -> Option<&AuthorityFacts> {
        self.authorities.iter().find(|ca| ca.id == id)
    }

    /// Whether a CA needs no graft: it is in the ring, or was revoked.
    pub(super) fn knows(&self, id: CaId) -> bool {
        self.authority(id).is_some() || self.revoked.contains(&id)
    }

    /// Every CA of the ring.
    #[must_use]
    pub fn trusted(&self) -> BTreeSet<CaId> {
        self.authorities.iter().map(|ca| ca.id).collect()
    }

    /// Whether this CA was found in a configuration and was made by another ring: it stays trusted where it was found, and
    /// is written nowhere else.
    #[must_use]
    pub fn is_imported(&self, ca: &AuthorityFacts) -> bool {
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

    /// Whether this ring made the CA, or a replica of it signed with it.
    #[must_use]
    pub fn has_made(&self, id: CaId) -> bool {
        self.made.contains(&id)
    }

    /// Remembers that a CA is the ring's own.
    pub(super) fn remember(&mut self, id: CaId) {
        if !self.made.contains(&id) {
            self.made.push(id);
            let surplus = self.made.len().saturating_sub(Self::MOST_MADE);
            self.made.drain(..surplus);
        }
    }

    /// The CAs of the ring at which a chain that the active one signs now can end: itself, and the one that crossed it.
    pub fn anchors(&self, now: Moment) -> impl Iterator<Item = &AuthorityFacts> {
        let crossed = |ca: &&AuthorityFacts| {
            let cross_signature =
                ca.cross_signature.filter(|cross_signature| cross_signature.not_after > now)?;
            self.authority(cross_signature.issuer)
        };
        let active = self.active();
        active.into_iter().chain(active.as_ref().and_then(crossed))
    }

    /// Whether a predecessor still waits for its last leaf to end.
    #[must_use]
    pub fn is_overlapping(&self) -> bool {
        self.authorities.iter().any(|ca| matches!(ca.state, AuthorityState::Retired { .. }))
    }
}
