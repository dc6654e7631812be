//! Liveness, as something that is true of every state: from here, without further faults, all is well again in the end.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use vestibule_pki::ring::RingFacts;

use super::Scenario;
use crate::{Event, Faults, Object, Replica, World, property};

/// Known results of recovery, by schedule and state. Many states become equal once every replica has seen everything.
#[derive(Default)]
pub(crate) struct Recovered(Mutex<HashMap<(Schedule, u64), bool>>);

/// The order in which replicas act after faults have stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Schedule {
    /// One event of each replica in turn; configurations are seen before the ring is read.
    InTurn,
    /// The same from the last replica to the first, and the ring is read before configurations are seen.
    Backwards,
    /// Each replica does all that it can before the next one does anything.
    ToRest,
}

const SCHEDULES: [Schedule; 3] = [Schedule::InTurn, Schedule::Backwards, Schedule::ToRest];

/// More rounds than any replica needs for its actions at one moment.
const ROUNDS: usize = 100;

/// A clone belongs to another scenario and starts empty.
impl Clone for Recovered {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Scenario {
    /// Whether the cluster recovers within two leaf lives after faults stop, under every schedule.
    pub(crate) fn recovers_from(&self, world: &World) -> bool {
        SCHEDULES.iter().all(|schedule| self.recovers_by(*schedule, world))
    }

    fn recovers_by(&self, schedule: Schedule, world: &World) -> bool {
        let mut world = world.clone();
        self.stop_faults(&mut world);
        let mut way = Vec::new();
        let mut recovers = None;
        for _ in 0..self.policy.leaf_life.as_secs() * 2 {
            if !self.settle(schedule, &mut world) {
                recovers = Some(false);
                break;
            }
            if is_well(self, &world) {
                recovers = Some(true);
                break;
            }
            let here = (schedule, digest(&world));
            recovers = self.recovered.lock().get(&here).copied();
            if recovers.is_some() {
                break;
            }
            way.push(here);
            self.tick(&mut world);
        }
        let recovers = recovers.unwrap_or(false);
        self.recovered.lock().extend(way.into_iter().map(|here| (here, recovers)));
        recovers
    }

    fn stop_faults(&self, world: &mut World) {
        (world.faults, world.backup) = (Faults::default(), RingFacts::Absent);
        for at in 0..world.replicas.len() {
            self.apply(world, Event::Begin(at));
            self.apply(world, Event::Heal(at));
        }
        if !self.unwritable {
            let seen = world.replicas.iter_mut().flat_map(|replica| &mut replica.seen.configurations);
            seen.for_each(|seen| seen.denied = false);
            world.objects.iter_mut().for_each(|object| object.denied = false);
        }
    }

    /// Lets every replica act until none has anything to do at this moment. Returns whether that came to an end.
    fn settle(&self, schedule: Schedule, world: &mut World) -> bool {
        let mut order: Vec<_> = (0..world.replicas.len()).collect();
        if schedule == Schedule::Backwards {
            order.reverse();
        }
        let is_quiet = (0..ROUNDS).any(|_| {
            let mut changed = false;
            for at in &order {
                let mut rounds = if schedule == Schedule::ToRest { ROUNDS } else { 1 };
                while rounds > 0 && self.take_turn(schedule, world, *at) {
                    (changed, rounds) = (true, rounds - 1);
                }
            }
            !changed
        });
        world.objects.iter_mut().for_each(Object::deliver_all);
        is_quiet
    }

    /// Returns whether anything changed.
    fn take_turn(&self, schedule: Schedule, world: &mut World, at: usize) -> bool {
        let mut events: Vec<_> = (0..self.configurations).map(|object| Event::See(at, object)).collect();
        events.push(Event::Read(at));
        if schedule == Schedule::Backwards {
            events.reverse();
        }
        events.push(Event::Act(at));
        events.into_iter().fold(false, |changed, event| self.apply(world, event).is_some() | changed)
    }
}

impl Recovered {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Schedule, u64), bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether every replica presents a valid leaf, every configuration that can be written holds the ring's bundle, and every API server accepts every
/// leaf for it.
fn is_well(scenario: &Scenario, world: &World) -> bool {
    let Some(facts) = world.ring.facts() else { return false };
    let serves = |replica: &Replica| replica.seen.has_leaf(world.now);
    let current = |object: &Object| {
        object.newest().is_some_and(|newest| {
            newest.gone
                || newest.bundle == facts.bundle_over(|id| newest.bundle.contains(&id)) && !newest.untidy
        })
    };
    // A replica that restarts forgets a revocation that the ring no longer records.
    let may_forget = scenario.faults.crash > 0;
    (may_forget || facts.trusted().is_disjoint(&world.replaced))
        && world.replicas.iter().all(serves)
        && world.objects.iter().filter(|object| !object.denied).all(current)
        && property::every_view_verifies(scenario, world)
}

/// A hash of a settled world, without the order of replicas and the numbers of writes.
fn digest(world: &World) -> u64 {
    let mut world = world.representative();
    (world.version, world.disorder) = (0, false);
    for object in &mut world.objects {
        object.version = 0;
    }
    for replica in &mut world.replicas {
        replica.served = true;
        replica.versions.fill(0);
        if let Some((version, _)) = &mut replica.ring {
            *version = 0;
        }
    }
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
