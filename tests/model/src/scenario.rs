//! A small cluster, as stateright asks for it.

mod begin;
mod recovery;
mod transitions;

use std::time::Duration;

use stateright::{Model, Property};
use vestibule_pki::ring::{Action, Policy, UnknownAuthorities};

use begin::BEGIN;
pub(crate) use begin::NAMES_TAKEN;
pub use begin::{FIRST_ACTIVE, Start};
use recovery::Recovered;

use crate::{Event, Fault, Faults, Guard, Mutation, Replica, World, property};

/// A small cluster. A second of the model stands for the shortest delay.
#[derive(Clone)]
pub struct Scenario {
    /// The situation, in words that end the sentence "What if ...".
    pub about: &'static str,
    /// The spans, in such seconds.
    pub policy: Policy,
    /// How it begins.
    pub start: Start,
    /// How many seconds are walked.
    pub seconds: u64,
    /// For each replica the seconds that its clock is behind.
    pub clocks: Vec<i64>,
    /// How many API servers.
    pub servers: usize,
    /// How many configurations.
    pub configurations: usize,
    /// How late an API server may see a change.
    pub lag: u64,
    /// The faults that may occur.
    pub faults: Faults,
    /// Whether the backup and a reverted configuration belong to an old ring.
    pub old_backup: bool,
    /// Whether the last configuration refuses our writes from the beginning, and never held CA 2.
    pub unwritable: bool,
    /// Whether CA 2 ends one second after CA 1.
    pub short_next: bool,
    /// For how many seconds the ring's CAs and all leaves are not valid yet: the API server's clock was set back.
    pub ahead: u64,
    /// Whether CAs that the ring never made are kept where they are found.
    pub keeps: bool,
    /// Whether it is checked that the last rotation comes in time.
    pub last_call: bool,
    /// Whether liveness is checked from every state.
    pub heals: bool,
    /// How many CAs may be made at most: faults cause no work without end.
    pub new_authorities: Option<u64>,
    /// Guards that are no rule of their own, and are off.
    pub(crate) off: Vec<Guard>,
    pub(crate) recovered: Recovered,
}

impl Scenario {
    /// Two replicas, one configuration, two API servers; no faults.
    pub fn new(about: &'static str, start: Start, seconds: u64) -> Self {
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
            about,
            policy,
            start,
            seconds,
            clocks: vec![0, 0],
            servers: 2,
            configurations: 1,
            lag: 1,
            faults: Faults::default(),
            old_backup: false,
            unwritable: false,
            short_next: false,
            ahead: 0,
            keeps: false,
            last_call: false,
            heals: false,
            new_authorities: None,
            off: Vec::new(),
            recovered: Recovered::default(),
        }
    }

    /// The same cluster with `--unknown-ca keep`.
    #[must_use]
    pub fn keeping(mut self) -> Self {
        self.policy.unknown_authorities = UnknownAuthorities::Keep;
        self.keeps = true;
        self
    }

    /// Whether a ring may come that knows nothing of a CA which a replica signs with.
    pub(crate) fn loses_rings(&self) -> bool {
        self.faults.delete + self.faults.corrupt + self.faults.rollback > 0
    }

    /// The same cluster without these rules and guards.
    #[must_use]
    pub fn without(mut self, mutations: &[Mutation]) -> Self {
        for mutation in mutations {
            match *mutation {
                Mutation::Rule(rule) => self.policy = self.policy.without(rule),
                Mutation::Guard(Guard::Recheck) => self.policy.recheck = Duration::MAX,
                Mutation::Guard(Guard::Unknown) => {
                    self.policy.unknown_authorities = UnknownAuthorities::Keep;
                }
                Mutation::Guard(Guard::SwitchWait) => self.policy.switch_wait = Duration::ZERO,
                Mutation::Guard(Guard::RestorePause) => self.policy.restore_pause = Duration::ZERO,
                Mutation::Guard(guard) => self.off.push(guard),
            }
        }
        self
    }

    /// The last second, with every replica serving.
    pub(crate) fn is_over(&self, world: &World) -> bool {
        let serves = |replica: &Replica| replica.seen.has_leaf(world.now);
        world.now.since(BEGIN).as_secs() == self.seconds && world.replicas.iter().all(serves)
    }
}

impl Model for Scenario {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![self.begin()]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        let intentions: Vec<_> =
            world.replicas.iter().map(|replica| self.intention(world, replica)).collect();
        for (at, intention) in intentions.iter().enumerate() {
            events.extend((0..self.configurations).map(|object| Event::See(at, object)));
            events.extend([Event::Read(at), Event::Begin(at), Event::Heal(at)]);
            events.extend(intention.is_some().then_some(Event::Act(at)));
        }
        for server in 0..self.servers {
            events.extend((0..self.configurations).map(|object| Event::Deliver(server, object)));
        }
        // The known gap of milliseconds is left out: a Secret that is rolled back between the read of the ring and the write of
        // its bundle. The next event repairs it.
        let between = intentions.iter().flatten().any(|action| matches!(action, Action::PublishBundle(_)));
        let faults = world.possible_faults().filter(|fault| !(between && *fault == Fault::Rollback));
        events.extend(faults.map(Event::Fault));
        if intentions.iter().all(Option::is_none) && !self.is_behind(world) {
            events.push(Event::Tick);
        }
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        let mut world = world.clone();
        self.apply(&mut world, event)?;
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        property::all(self)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.now.since(BEGIN).as_secs() <= self.seconds
    }
}
