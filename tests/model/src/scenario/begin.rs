//! How a scenario begins.

use std::collections::BTreeSet;

use vestibule_pki::ring::{
    AuthorityFacts, AuthorityState, CaId, Facts, LeafFacts, Lineage, Moment, Request, RingFacts,
};

use super::Scenario;
use crate::{Names, Object, Published, Replica, World};

pub(super) const BEGIN: Moment = Moment(1000);

/// The CA that signs when a settled scenario begins; the next one has the next name.
pub const FIRST_ACTIVE: CaId = CaId(1);
/// The highest name at the beginning.
pub(crate) const NAMES_TAKEN: u64 = 2;

/// The initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// No Secret, empty bundles, replicas that know nothing.
    Empty,
    /// A ring that has been there for long, so many seconds before its next rotation.
    Settled {
        /// Seconds until the rotation is due.
        due: u64,
        /// Seconds until the active CA ends.
        end: u64,
    },
}

impl Scenario {
    pub(super) fn begin(&self) -> World {
        let first = self.first();
        let object = Object {
            history: vec![first],
            views: vec![0; self.servers],
            version: 1,
            denied: false,
            replaced: false,
            stripped: false,
            planted: false,
        };
        let mut world = World {
            now: BEGIN,
            ring: RingFacts::Absent,
            version: 1,
            backup: RingFacts::Absent,
            objects: vec![object; self.configurations],
            replicas: self.clocks.iter().map(|offset| Replica::new(self.configurations, *offset)).collect(),
            faults: self.faults,
            revoked: BTreeSet::new(),
            replaced: BTreeSet::new(),
            disorder: false,
            names: Names(NAMES_TAKEN),
        };
        if let Start::Settled { due, end } = self.start {
            world.ring = RingFacts::Known(settled(due, end));
            world.backup = if self.old_backup { RingFacts::Known(long_ago()) } else { world.ring.clone() };
            if self.unwritable {
                make_unwritable(&mut world);
            }
            if let RingFacts::Known(facts) = &mut world.ring
                && self.short_next
            {
                facts.authorities[1].not_after = Moment(BEGIN.0 + end + 1);
            }
            if let RingFacts::Known(facts) = &mut world.ring
                && self.ahead > 0
            {
                facts.authorities.iter_mut().for_each(|ca| ca.not_before = Moment(BEGIN.0 + self.ahead));
            }
            self.serve(&mut world);
        }
        world
    }

    /// Lets every replica read everything and present a leaf.
    fn serve(&self, world: &mut World) {
        let leaf = LeafFacts {
            issuer: FIRST_ACTIVE,
            cross_signature: None,
            renew: BEGIN.plus(self.policy.leaf_life * 2 / 3),
            not_before: if self.ahead > 0 { Moment(BEGIN.0 + self.ahead) } else { Moment(0) },
            not_after: BEGIN.plus(self.policy.leaf_life),
        };
        for at in 0..world.replicas.len() {
            for object in 0..self.configurations {
                world.see(at, object, self);
            }
            world.read(at, &self.policy);
            world.replicas[at].served = true;
            world.replicas[at].seen.leaf = Some(leaf.clone());
        }
    }

    /// The content of a configuration after an old manifest was applied.
    pub(super) fn reverted(&self) -> Published {
        if self.old_backup { Published::of(&long_ago(), Moment(0), None) } else { self.first() }
    }

    /// The initial content of a configuration.
    fn first(&self) -> Published {
        match self.start {
            Start::Empty => Published::bare(Moment(0)),
            Start::Settled { due, end } => Published::of(&settled(due, end), Moment(0), None),
        }
    }
}

/// The last configuration never learned of CA 2, and never will.
fn make_unwritable(world: &mut World) {
    if let Some(object) = world.objects.last_mut() {
        object.denied = true;
        object.history[0].bundle.remove(&CaId(2));
    }
    if let RingFacts::Known(facts) = &mut world.ring {
        facts.authorities[1].held = None;
    }
}

/// CA 1 signs, CA 2 is next; both are known for long.
fn settled(due: u64, end: u64) -> Facts {
    let ca = |id, state, not_after| AuthorityFacts {
        id: CaId(id),
        state,
        not_before: Moment(0),
        not_after: Moment(not_after),
        held: Some(Moment(0)),
        cross_signature: None,
    };
    Facts {
        lineage: Lineage(0),
        generation: 5,
        due: Moment(BEGIN.0 + due),
        rotation: Request::default(),
        revocation: Request::default(),
        restored: None,
        revoked: BTreeSet::new(),
        made: vec![CaId(1), CaId(2)],
        authorities: vec![
            ca(1, AuthorityState::Active, BEGIN.0 + end),
            ca(2, AuthorityState::Next, BEGIN.0 + end + 30),
        ],
    }
}

/// Two rotations before [`settled`].
fn long_ago() -> Facts {
    let mut facts = settled(20, 60);
    facts.generation = 2;
    (facts.authorities[0].id, facts.authorities[1].id) = (CaId(901), CaId(902));
    facts.made = vec![CaId(901), CaId(902)];
    facts
}
