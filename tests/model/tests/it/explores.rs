//! The checker itself: what is false is found, and what can go wrong does.

use model::{Event, Faults, Scenario, World, catalogue};
use stateright::{Checker, Model, Property};
use vestibule_pki::ring::Facts;

/// A cluster of which something false is believed.
struct Believed {
    scenario: Scenario,
    belief: fn(&World) -> bool,
}

impl Model for Believed {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        self.scenario.init_states()
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        self.scenario.actions(world, events);
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        self.scenario.next_state(world, event)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("belief", |model: &Self, world| (model.belief)(world))]
    }

    fn within_boundary(&self, world: &World) -> bool {
        self.scenario.within_boundary(world)
    }
}

fn is_refuted(scenario: Scenario, belief: fn(&World) -> bool) -> bool {
    Believed { scenario, belief }.checker().spawn_bfs().join().discovery("belief").is_some()
}

#[test]
fn rotations_happen() {
    let never = |world: &World| !world.ring.facts().is_some_and(Facts::is_overlapping);
    assert!(is_refuted(catalogue::rotation(), never));
    let mut too_short = catalogue::rotation();
    too_short.seconds = 0;
    assert!(!is_refuted(too_short, never));
}

#[test]
fn rotations_come_to_their_end() {
    let never = |world: &World| {
        let first = model::FIRST_ACTIVE;
        world.ring.facts().is_none_or(|facts| facts.authority(first).is_some())
    };
    assert!(is_refuted(catalogue::rotation(), never));
}

#[test]
fn an_empty_cluster_comes_to_serve() {
    assert!(is_refuted(catalogue::cold(), |world| !world.replicas.iter().all(|replica| replica.served)));
}

#[test]
fn api_servers_are_late() {
    let never = |world: &World| world.objects.iter().all(|object| object.history.len() == 1);
    assert!(is_refuted(catalogue::rotation(), never));
}

#[test]
fn every_fault_comes_somewhere() {
    let scenarios = catalogue::scenarios();
    let faults: Vec<_> = scenarios.iter().map(|(_, scenario)| format!("{:?}", scenario.faults)).collect();
    let none = format!("{:?}", Faults::default());
    for absent in none.trim_start_matches("Faults { ").trim_end_matches(" }").split(", ") {
        assert!(faults.iter().any(|faults| !faults.contains(absent)), "{absent} in every scenario");
    }
}
