//! The invariants.

use stateright::Property;
use vestibule_pki::ring::{AuthorityState, LeafFacts, Policy, RingFacts, Rule};

use crate::act::UNKNOWN_CA;
use crate::scenario::NAMES_TAKEN;
use crate::{Object, Published, Replica, Scenario, World};

/// A condition that must hold in every state.
pub struct Invariant {
    /// Its number in the design, or the rule that promises it.
    pub number: &'static str,
    /// The condition in words.
    pub says: &'static str,
    /// The scenarios in which it is checked, or the test that shows it instead.
    pub shown: Shown,
}

/// The states in which an invariant is checked.
#[derive(Clone, Copy)]
pub enum Shown {
    /// In every state of every scenario.
    Everywhere,
    /// In the scenarios that ask for it.
    Where(fn(&Scenario) -> bool),
    /// Not in the model.
    Elsewhere(&'static str),
}

/// The invariants, in the order of the design.
pub const INVARIANTS: [Invariant; 12] = [
    Invariant { number: "I1", says: ALL_VERIFY, shown: Shown::Everywhere },
    Invariant { number: "I2", says: IN_ORDER, shown: Shown::Everywhere },
    Invariant {
        number: "I3",
        says: "I3 no private key of a retired or foreign CA is kept",
        shown: Shown::Elsewhere(
            "facts hold no keys: `only_active_and_next_keep_their_keys` of the pki crate",
        ),
    },
    Invariant { number: "I4", says: NEEDED_KEPT, shown: Shown::Everywhere },
    Invariant { number: "I5", says: NEVER_EMPTY, shown: Shown::Everywhere },
    Invariant { number: "I6", says: ON_THE_WAY, shown: Shown::Everywhere },
    Invariant { number: "I7", says: ENDS_IN_TIME, shown: Shown::Everywhere },
    Invariant { number: "E1", says: GOES_ON, shown: Shown::Everywhere },
    Invariant { number: "trust", says: NO_UNKNOWN_CA, shown: Shown::Everywhere },
    Invariant { number: "L1", says: REPLACED_IN_TIME, shown: Shown::Where(|scenario| scenario.last_call) },
    Invariant {
        number: "work",
        says: NO_MORE_THAN_ASKED,
        shown: Shown::Where(|scenario| scenario.new_authorities.is_some()),
    },
    Invariant { number: "liveness", says: RECOVERS, shown: Shown::Where(|scenario| scenario.heals) },
];

const ALL_VERIFY: &str = "I1 every presented chain verifies at every API server whose view is ours";
const IN_ORDER: &str = "I2 there is one active CA and one next, and generations grow";
const NEEDED_KEPT: &str = "I4 no bundle of ours leaves out a CA that a living leaf needs";
const NEVER_EMPTY: &str = "I5 no bundle of ours is empty";
const ON_THE_WAY: &str =
    "I6 every bundle of ours that an API server may still hold or get verifies every leaf";
const ENDS_IN_TIME: &str = "I7 no leaf outlives its CA or its lease";
const GOES_ON: &str = "E1 a replica that presented a leaf goes on presenting one";
const NO_UNKNOWN_CA: &str = "trust: no replica writes an unknown CA into a configuration, except with `keep` into the one where it was found";
const REPLACED_IN_TIME: &str = "L1 the active CA is replaced in time";
const NO_MORE_THAN_ASKED: &str = "work: no more CAs are made than the faults require";
const RECOVERS: &str = "liveness: when faults stop, the cluster recovers";

/// The properties of a scenario.
pub(crate) fn all(scenario: &Scenario) -> Vec<Property<Scenario>> {
    let mut properties = vec![
        Property::always(ALL_VERIFY, |scenario: &Scenario, world: &World| {
            let views = in_hand(world).flat_map(Object::seen);
            accepted_by(views, scenario, world)
        }),
        Property::always(IN_ORDER, |_, world| is_in_order(world)),
        Property::always(NEEDED_KEPT, |scenario: &Scenario, world: &World| {
            accepted_by(in_hand(world).filter_map(Object::newest), scenario, world)
        }),
        Property::always(NEVER_EMPTY, |_, world: &World| {
            published(world).filter(|published| published.ours).all(|published| !published.bundle.is_empty())
        }),
        Property::always(ON_THE_WAY, |scenario: &Scenario, world: &World| {
            accepted_by(published(world), scenario, world)
        }),
        Property::always(ENDS_IN_TIME, |scenario: &Scenario, world| ends_in_time(world, &scenario.policy)),
        Property::always(NO_UNKNOWN_CA, |scenario: &Scenario, world: &World| {
            world.objects.iter().all(|object| {
                let mut ours = object.history.iter().filter(|published| published.ours);
                ours.all(|published| {
                    !published.bundle.contains(&UNKNOWN_CA) || scenario.keeps && object.planted
                })
            })
        }),
        Property::always(GOES_ON, |_, world: &World| world.replicas.iter().all(goes_on)),
        // A model in which no event is possible would fulfil all of the above.
        Property::sometimes("time comes to its end", |scenario: &Scenario, world| scenario.is_over(world)),
    ];
    if scenario.last_call {
        properties.push(Property::always(REPLACED_IN_TIME, |scenario: &Scenario, world| {
            is_replaced_in_time(world, &scenario.policy)
        }));
    }
    if scenario.new_authorities.is_some() {
        properties.push(Property::always(NO_MORE_THAN_ASKED, |scenario: &Scenario, world: &World| {
            scenario.new_authorities.is_none_or(|most| world.names.0 - NAMES_TAKEN <= most)
        }));
    }
    if scenario.heals {
        properties
            .push(Property::always(RECOVERS, |scenario: &Scenario, world| scenario.recovers_from(world)));
    }
    properties
}

/// Whether each of these bundles that a replica wrote accepts each leaf.
fn accepted_by<'a>(
    mut bundles: impl Iterator<Item = &'a Published>,
    scenario: &Scenario,
    world: &World,
) -> bool {
    bundles.all(|bundle| !bundle.ours || presented(scenario, world).all(|leaf| accepts(bundle, leaf)))
}

/// Every leaf that is presented and must be accepted.
fn presented<'a>(scenario: &Scenario, world: &'a World) -> impl Iterator<Item = &'a LeafFacts> {
    // A replica out of reach does not learn that its keys were stolen.
    let may_be_revoked = scenario.faults.cut > 0;
    // Nor can it add its CA to a ring that does not know it.
    let may_be_unknown = !scenario.keeps && scenario.loses_rings();
    let replicas = world.replicas.iter().filter(|replica| replica.up);
    let leaves = replicas.filter(move |replica| !(may_be_unknown && replica.cut));
    leaves
        .filter_map(|replica| replica.seen.leaf.as_ref())
        .filter(|leaf| leaf.is_valid(world.now))
        .filter(move |leaf| !(may_be_revoked && world.revoked.contains(&leaf.issuer)))
}

fn accepts(published: &Published, leaf: &LeafFacts) -> bool {
    published.bundle.contains(&leaf.issuer)
        || leaf.cross_signature.is_some_and(|cross_signature| published.bundle.contains(&cross_signature))
}

/// The contents of configurations, from the oldest that an API server still sees.
fn published(world: &World) -> impl Iterator<Item = &Published> {
    in_hand(world).flat_map(|object| &object.history)
}

/// All configurations except the ones that trust only stolen CAs and cannot be written.
fn in_hand(world: &World) -> impl Iterator<Item = &Object> {
    let is_beyond_help = |object: &&Object| {
        let newest = object.newest().map(|newest| &newest.bundle);
        object.denied && newest.is_some_and(|bundle| bundle.is_subset(&world.revoked))
    };
    world.objects.iter().filter(move |object| !is_beyond_help(object))
}

/// Whether every API server accepts every leaf for every configuration that can be written, also where another program wrote the bundle.
pub(crate) fn every_view_verifies(scenario: &Scenario, world: &World) -> bool {
    let objects = world.objects.iter().filter(|object| !object.denied);
    let mut views = objects.flat_map(Object::seen).filter(|view| !view.gone);
    views.all(|view| presented(scenario, world).all(|leaf| accepts(view, leaf)))
}

fn is_in_order(world: &World) -> bool {
    let RingFacts::Known(facts) = &world.ring else { return !world.disorder };
    let count = |state| facts.authorities.iter().filter(|ca| ca.state == state).count();
    !world.disorder && count(AuthorityState::Active) == 1 && count(AuthorityState::Next) == 1
}

fn ends_in_time(world: &World, policy: &Policy) -> bool {
    world.replicas.iter().all(|replica| {
        replica.seen.leaf.as_ref().is_none_or(|leaf| {
            let issuer = world.ring.facts().and_then(|facts| facts.authority(leaf.issuer));
            // The facts of a foreign CA have no dates.
            let signed = issuer
                .filter(|ca| matches!(ca.state, AuthorityState::Active | AuthorityState::Retired { .. }));
            let lease = replica.seen.confirmed.map(|read| read.plus(policy.leaf_life));
            signed.is_none_or(|ca| leaf.not_after <= ca.not_after)
                // Without rule S3 there is no lease; other invariants then show the damage.
                && (!policy.enforces(Rule::S3) || lease.is_some_and(|lease| leaf.not_after <= lease))
        })
    })
}

fn goes_on(replica: &Replica) -> bool {
    !replica.up || !replica.served || replica.seen.leaf.is_some()
}

fn is_replaced_in_time(world: &World, policy: &Policy) -> bool {
    let active = world.ring.facts().and_then(|facts| facts.active());
    active.is_none_or(|active| active.not_after.since(world.now) >= policy.leaf_life)
}
