//! A small cluster, and how its states follow one another.

use std::collections::BTreeSet;
use std::time::Duration;

use stateright::{Model, Property};
use vestibule_pki::ring::{
    Action, AuthorityFacts, AuthorityState, CaId, Facts, LeafFacts, Lineage, Moment, Policy, Request,
    RingFacts,
};

use crate::world::Names;
use crate::{Event, Fault, Faults, Object, Published, Replica, World, property};

const BEGIN: Moment = Moment(1000);

/// How it all begins.
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

/// A small cluster. A second stands for whatever the shortest delay is.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The spans, in such seconds.
    pub policy: Policy,
    /// How it begins.
    pub start: Start,
    /// How many seconds are looked at.
    pub seconds: u64,
    /// For each replica the seconds that its clock is behind.
    pub clocks: Vec<i64>,
    /// How many API servers.
    pub servers: usize,
    /// How many configurations.
    pub configurations: usize,
    /// How late an API server may see a change.
    pub lag: u64,
    /// What may go wrong.
    pub faults: Faults,
    /// Whether the backup is of a ring of long ago, and a reverted configuration too.
    pub old_backup: bool,
    /// Whether the last configuration refuses our writes from the beginning, and never held CA 2.
    pub shunned: bool,
    /// Whether it is checked that the last rotation comes in time.
    pub last_call: bool,
    /// Whether it is checked from every state that all is well again when faults stop.
    pub heals: bool,
}

impl Scenario {
    /// Two replicas, one configuration, two API servers; no faults.
    pub fn new(start: Start, seconds: u64) -> Self {
        let mut policy = Policy::default();
        policy.authority_life = Duration::from_secs(90);
        policy.leaf_life = Duration::from_secs(6);
        policy.hold = Duration::from_secs(3);
        policy.hold_cold = Duration::from_secs(2);
        policy.skew = Duration::from_secs(1);
        policy.recheck = Duration::ZERO;
        policy.switch_wait = Duration::from_secs(2);
        policy.restore_pause = Duration::from_secs(20);
        Self {
            policy,
            start,
            seconds,
            clocks: vec![0, 0],
            servers: 2,
            configurations: 1,
            lag: 1,
            faults: Faults::default(),
            old_backup: false,
            shunned: false,
            last_call: false,
            heals: false,
        }
    }

    /// What a configuration holds after somebody applied an old manifest.
    fn reverted(&self) -> Published {
        if self.old_backup { Published::of(&long_ago(), Moment(0), None) } else { self.first() }
    }

    /// What configurations held when it began.
    fn first(&self) -> Published {
        match self.start {
            Start::Empty => Published {
                bundle: BTreeSet::new(),
                mark: None,
                changed: Moment(0),
                written: Moment(0),
                ours: false,
            },
            Start::Settled { due, end } => Published::of(&settled(due, end), Moment(0), None),
        }
    }

    fn begin(&self) -> World {
        let first = self.first();
        let object = Object { history: vec![first], views: vec![0; self.servers], version: 1, denied: false };
        let mut world = World {
            now: BEGIN,
            ring: RingFacts::Absent,
            version: 1,
            backup: RingFacts::Absent,
            objects: vec![object; self.configurations],
            replicas: self.clocks.iter().map(|offset| Replica::new(self.configurations, *offset)).collect(),
            faults: self.faults,
            revoked: BTreeSet::new(),
            disorder: false,
            names: Names(2),
        };
        let Start::Settled { due, end } = self.start else { return world };
        world.ring = RingFacts::Known(settled(due, end));
        world.backup = if self.old_backup { RingFacts::Known(long_ago()) } else { world.ring.clone() };
        if let Some(object) = world.objects.last_mut().filter(|_| self.shunned) {
            object.denied = true;
            object.history[0].bundle.remove(&CaId(2));
            let RingFacts::Known(facts) = &mut world.ring else { return world };
            facts.authorities[1].held = None;
        }
        let leaf = LeafFacts {
            issuer: CaId(1),
            bridge: None,
            renew: BEGIN.plus(self.policy.leaf_life * 2 / 3),
            not_after: BEGIN.plus(self.policy.leaf_life),
        };
        for at in 0..world.replicas.len() {
            for object in 0..self.configurations {
                world.see(at, object, &self.policy);
            }
            world.read(at, &self.policy);
            world.replicas[at].served = true;
            world.replicas[at].seen.leaf = Some(leaf.clone());
        }
        world
    }

    /// Whether somebody who can act has something to do: then time waits.
    fn is_busy(&self, world: &World) -> bool {
        let replica_is_busy = |replica: &Replica| {
            let versions = replica.versions.iter().zip(&world.objects);
            let blind = replica.ring.as_ref().is_none_or(|(version, _)| *version != world.version)
                || versions.into_iter().any(|(version, object)| *version != object.version);
            replica.up && (!replica.cut && blind || world.intention(replica, &self.policy).is_some())
        };
        let late = |object: &Object| {
            object.views.iter().any(|view| {
                let next = object.history.get(view + 1);
                next.is_some_and(|next| world.now.since(next.written).as_secs() >= self.lag)
            })
        };
        world.replicas.iter().any(replica_is_busy) || world.objects.iter().any(late)
    }

    fn tick(&self, world: &mut World) {
        world.now = Moment(world.now.0 + 1);
        for at in 0..world.replicas.len() {
            // The ring is read at least as often as time is told here.
            if world.replicas[at].up && !world.replicas[at].cut {
                world.read(at, &self.policy);
            }
        }
    }

    /// The last second, with every replica serving.
    pub(crate) fn is_over(&self, world: &World) -> bool {
        let serves = |replica: &Replica| replica.seen.has_leaf(world.now);
        world.now.since(BEGIN).as_secs() == self.seconds && world.replicas.iter().all(serves)
    }

    /// Faults stop, everybody is quick: is all well after a while?
    pub(crate) fn heals_from(&self, world: &World) -> bool {
        let mut world = world.clone();
        for at in 0..world.replicas.len() {
            self.happen(&mut world, Event::Begin(at));
            self.happen(&mut world, Event::Heal(at));
            for seen in &mut world.replicas[at].seen.configurations {
                seen.denied = false;
            }
        }
        world.objects.iter_mut().for_each(|object| object.denied = false);
        for _ in 0..self.policy.leaf_life.as_secs() * 2 {
            for _ in 0..100 {
                let quiet = (0..world.replicas.len()).all(|at| {
                    let saw = (0..self.configurations)
                        .map(|object| self.happen(&mut world, Event::See(at, object)).is_some())
                        .fold(false, |all, one| all | one);
                    let read = self.happen(&mut world, Event::Read(at)).is_some();
                    let acted = self.happen(&mut world, Event::Act(at)).is_some();
                    !(saw || read || acted)
                });
                if quiet {
                    break;
                }
            }
            for object in &mut world.objects {
                while object.views.iter().any(|view| view + 1 < object.history.len()) {
                    let late = object.views.iter().position(|view| view + 1 < object.history.len());
                    object.deliver(late.unwrap_or(0));
                }
            }
            if is_well(&world) {
                return true;
            }
            self.tick(&mut world);
        }
        false
    }

    fn happen(&self, world: &mut World, event: Event) -> Option<()> {
        match event {
            Event::Tick => self.tick(world),
            Event::See(at, object) => {
                let replica = world.replicas.get(at).filter(|replica| replica.up && !replica.cut)?;
                (replica.versions.get(object)? != &world.objects.get(object)?.version).then_some(())?;
                world.see(at, object, &self.policy)?;
            }
            Event::Read(at) => {
                let replica = world.replicas.get(at).filter(|replica| replica.up && !replica.cut)?;
                replica.ring.as_ref().is_none_or(|(version, _)| *version != world.version).then_some(())?;
                world.read(at, &self.policy)?;
            }
            Event::Act(at) => world.act(at, &self.policy)?,
            Event::Deliver(server, object) => {
                let found = world.objects.get_mut(object)?;
                (found.views.get(server)? + 1 < found.history.len()).then_some(())?;
                found.deliver(server);
            }
            Event::Begin(at) => {
                let replica = world.replicas.get_mut(at).filter(|replica| !replica.up)?;
                *replica = Replica::new(self.configurations, replica.seen.offset);
            }
            Event::Heal(at) => {
                let replica = world.replicas.get_mut(at).filter(|replica| replica.cut)?;
                replica.cut = false;
                for object in 0..self.configurations {
                    replica.seen.configuration_missed(object);
                    replica.versions[object] = 0;
                }
            }
            Event::Fault(fault) => world.suffer(fault, &self.reverted())?,
        }
        Some(())
    }
}

impl Model for Scenario {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![self.begin()]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        for at in 0..world.replicas.len() {
            events.extend((0..self.configurations).map(|object| Event::See(at, object)));
            events.extend([Event::Read(at), Event::Act(at), Event::Begin(at), Event::Heal(at)]);
        }
        for server in 0..self.servers {
            events.extend((0..self.configurations).map(|object| Event::Deliver(server, object)));
        }
        // The one gap that is known, of milliseconds: a Secret rolled back between the reading of a ring and the
        // publishing of its bundle. It is repaired with the next event.
        let publishing =
            |replica| matches!(world.intention(replica, &self.policy), Some(Action::PublishBundle(_)));
        let between = world.replicas.iter().any(publishing);
        let faults = world.possible_faults().filter(|fault| !(between && *fault == Fault::Rollback));
        events.extend(faults.map(Event::Fault));
        if !self.is_busy(world) {
            events.push(Event::Tick);
        }
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        let mut world = world.clone();
        self.happen(&mut world, event)?;
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        property::all(self)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.now.since(BEGIN).as_secs() <= self.seconds
    }
}

fn is_well(world: &World) -> bool {
    let Some(facts) = world.ring.facts() else { return false };
    let serves = |replica: &Replica| replica.seen.has_leaf(world.now);
    let current = |object: &Object| object.newest().is_some_and(|newest| newest.bundle == facts.trusted());
    world.replicas.iter().all(serves) && world.objects.iter().all(current) && property::verifies(world)
}

/// CA 1 signs, CA 2 is next; both are known for long.
fn settled(due: u64, end: u64) -> Facts {
    let ca = |id, state, not_after| AuthorityFacts {
        id: CaId(id),
        state,
        not_after: Moment(not_after),
        held: Some(Moment(0)),
        bridge: None,
    };
    Facts {
        lineage: Lineage(0),
        generation: 5,
        due: Moment(BEGIN.0 + due),
        rotation: Request::default(),
        revocation: Request::default(),
        revoked: BTreeSet::new(),
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
    facts
}
