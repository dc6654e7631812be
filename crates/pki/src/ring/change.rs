//! The changes of a ring, and the ring after each.

use std::collections::BTreeSet;

use crate::ring::{
    AuthorityFacts, AuthorityState, CaId, CrossSignature, Facts, Lineage, Moment, Policy, Rule,
};

/// A change of the ring: one write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A new ring; the CAs that are trusted now become foreign.
    Create {
        /// The ring's own CAs that are trusted now.
        trust: BTreeSet<CaId>,
        /// Unknown CAs, each of which stays trusted in the configuration where it was found.
        imported: BTreeSet<CaId>,
    },
    /// The remembered ring again, with the other CAs that are trusted now.
    Restore {
        /// The ring as remembered.
        memory: Box<Facts>,
        /// The ring's other CAs that are trusted now, among them the issuer of the replica's leaf.
        trust: BTreeSet<CaId>,
        /// Unknown CAs, each of which stays trusted in the configuration where it was found.
        imported: BTreeSet<CaId>,
        /// Greater than every generation seen.
        generation: u64,
        /// Whether a rotation follows.
        rotate: bool,
    },
    /// The stored ring, with the other CAs that are trusted now; no CA counts as held any more.
    Graft {
        /// The ring's other CAs that are trusted now, among them the remembered ones and the issuer of the replica's leaf.
        trust: BTreeSet<CaId>,
        /// Unknown CAs, each of which stays trusted in the configuration where it was found.
        imported: BTreeSet<CaId>,
        /// Greater than every generation seen.
        generation: u64,
    },
    /// Every API server knows this CA.
    Hold(CaId),
    /// Next becomes active, active becomes retired, a new next is made.
    Promote,
    /// These CAs are no longer trusted.
    Remove(BTreeSet<CaId>),
    /// A new active and a new next CA; every other CA becomes foreign for a short time.
    Revoke,
}

/// Makes new CAs: with random keys in production, by counting in a model.
pub trait CaFactory {
    /// A new CA, valid for that long. [`None`] if none can be made.
    fn authority(&mut self, now: Moment, not_after: Moment) -> Option<CaId>;
    /// The family of a new ring.
    fn lineage(&mut self) -> Lineage;
}

impl Change {
    /// Whether the caller may delay the change by a random time, so that not all replicas write at once. The other changes
    /// are repairs.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        match self {
            Self::Hold(_) | Self::Promote | Self::Remove(_) => true,
            Self::Create { .. } | Self::Restore { .. } | Self::Graft { .. } | Self::Revoke => false,
        }
    }

    /// The ring after this change. [`None`] if the change does not fit the ring, because another replica changed it.
    #[must_use]
    pub fn apply(
        &self,
        stored: Option<&Facts>,
        now: Moment,
        policy: &Policy,
        factory: &mut impl CaFactory,
    ) -> Option<Facts> {
        let quarantine = now.plus(policy.quarantine()).plus(policy.skew);
        let mut facts = match self {
            Self::Create { .. } => Facts {
                lineage: factory.lineage(),
                generation: 1,
                due: now.plus(policy.period()),
                rotation: fulfilled(stored.map(|stored| stored.rotation)),
                revocation: fulfilled(stored.map(|stored| stored.revocation)),
                restored: None,
                revoked: stored.map(|stored| stored.revoked.clone()).unwrap_or_default(),
                made: stored.map(|stored| stored.made.clone()).unwrap_or_default(),
                authorities: vec![
                    new_authority(factory, AuthorityState::Active, now, policy)?,
                    new_authority(factory, AuthorityState::Next, now, policy)?,
                ],
            },
            Self::Restore { memory, .. } => (**memory).clone(),
            _ => stored?.clone(),
        };
        match self {
            Self::Create { trust, imported } => facts.adopt((trust, imported), quarantine),
            Self::Restore { trust, imported, generation, rotate, .. } => {
                facts.continue_as(*generation);
                facts.adopt((trust, imported), quarantine);
                if *rotate {
                    (facts.due, facts.restored) = (facts.due.min(now), Some(now));
                }
            }
            Self::Graft { trust, imported, generation } => {
                facts.continue_as(*generation);
                facts.adopt((trust, imported), quarantine);
            }
            Self::Hold(id) => facts.authorities.iter_mut().find(|ca| ca.id == *id)?.held = Some(now),
            Self::Promote => facts.promote(now, policy, factory)?,
            Self::Remove(ids) => {
                facts.authorities.retain(|ca| !ids.contains(&ca.id));
                facts.increment_generation();
            }
            Self::Revoke => {
                // Foreign CAs too: they may come from the stolen ring.
                facts.revoked.extend(facts.authorities.iter().map(|ca| ca.id));
                for ca in &mut facts.authorities {
                    (ca.state, ca.cross_signature) = (AuthorityState::Foreign { until: now }, None);
                }
                facts.authorities.push(new_authority(factory, AuthorityState::Active, now, policy)?);
                facts.authorities.push(new_authority(factory, AuthorityState::Next, now, policy)?);
                facts.increment_generation();
                facts.due = now.plus(policy.period());
                facts.revocation = fulfilled(Some(facts.revocation));
            }
        }
        let signing: Vec<_> = facts.signing().map(|ca| ca.id).collect();
        signing.into_iter().for_each(|id| facts.remember(id));
        facts.authorities.sort_by_key(|ca| ca.id);
        Some(facts)
    }
}

impl Facts {
    fn increment_generation(&mut self) {
        self.generation = self.generation.saturating_add(1);
    }

    /// After a discontinuity no CA counts as held: the ring may have been rolled back after API servers saw other bundles.
    fn continue_as(&mut self, generation: u64) {
        self.generation = generation;
        for ca in &mut self.authorities {
            ca.held = None;
        }
    }

    /// The facts of a foreign CA have no dates; its certificate does, and clients refuse an expired one.
    fn adopt(&mut self, (own, imported): (&BTreeSet<CaId>, &BTreeSet<CaId>), until: Moment) {
        let trust: BTreeSet<CaId> = (own | imported).difference(&self.revoked).copied().collect();
        for ca in &mut self.authorities {
            // Leaves of this CA may have been signed after the backup was taken.
            if let AuthorityState::Retired { until: end } | AuthorityState::Foreign { until: end } =
                &mut ca.state
                && trust.contains(&ca.id)
            {
                *end = until.max(*end);
            }
        }
        let known = self.trusted();
        let foreign = |id: &CaId| AuthorityFacts {
            id: *id,
            state: AuthorityState::Foreign { until },
            not_before: Moment(0),
            not_after: until,
            held: None,
            cross_signature: None,
        };
        self.authorities.extend(trust.difference(&known).map(foreign));
        // An imported CA stays imported, also when another replica remembers it as the ring's own.
        let own: Vec<CaId> = own.intersection(&trust).filter(|id| !known.contains(id)).copied().collect();
        own.into_iter().for_each(|id| self.remember(id));
    }

    fn promote(&mut self, now: Moment, policy: &Policy, factory: &mut impl CaFactory) -> Option<()> {
        let (old, old_end) = self.active().map(|ca| (ca.id, ca.not_after))?;
        self.next()?;
        for ca in &mut self.authorities {
            match ca.state {
                AuthorityState::Active => {
                    let until = now.plus(policy.leaf_life).plus(policy.skew);
                    (ca.state, ca.cross_signature) = (AuthorityState::Retired { until }, None);
                }
                AuthorityState::Next => {
                    ca.state = AuthorityState::Active;
                    let cross_signature =
                        CrossSignature { issuer: old, not_after: old_end.min(ca.not_after) };
                    ca.cross_signature = policy.enforces(Rule::P2).then_some(cross_signature);
                }
                _ => {}
            }
        }
        self.authorities.push(new_authority(factory, AuthorityState::Next, now, policy)?);
        self.increment_generation();
        self.due = now.plus(policy.period());
        self.rotation = fulfilled(Some(self.rotation));
        Some(())
    }
}

fn new_authority(
    factory: &mut impl CaFactory,
    state: AuthorityState,
    now: Moment,
    policy: &Policy,
) -> Option<AuthorityFacts> {
    let not_after = now.plus(policy.authority_life);
    let id = factory.authority(now, not_after)?;
    let not_before = now.minus(crate::authority::BACKDATED);
    Some(AuthorityFacts { id, state, not_before, not_after, held: None, cross_signature: None })
}

fn fulfilled(request: Option<super::Request>) -> super::Request {
    let request = request.unwrap_or_default();
    super::Request { answered: request.asked, ..request }
}
