//! What must always hold.

use stateright::Property;
use vestibule_pki::ring::{AuthorityState, LeafFacts, Policy, RingFacts, Rule};

use crate::{Object, Published, Replica, Scenario, World};

/// The invariants, in the order of the book.
pub const NAMES: [&str; 8] = [
    "I1 every presented chain verifies at every API server whose view is ours",
    "I2 one active CA, and generations grow",
    "I4 no bundle of ours leaves out a CA that a living leaf needs",
    "I5 no bundle of ours is empty",
    "I7 no leaf outlives its CA or its lease",
    "E1 who served goes on serving",
    "L1 the active CA is replaced in time",
    "when faults stop, all is well again",
];

pub(crate) fn all(scenario: &Scenario) -> Vec<Property<Scenario>> {
    let [i1, i2, i4, i5, i7, e1, l1, well] = NAMES;
    let mut properties = vec![
        Property::always(i1, |_, world: &World| verifies(world)),
        Property::always(i2, |_, world| is_in_order(world)),
        Property::always(i4, |_, world| keeps_what_is_needed(world)),
        Property::always(i5, |_, world| ours(world).all(|published| !published.bundle.is_empty())),
        Property::always(i7, |scenario: &Scenario, world| ends_in_time(world, &scenario.policy)),
        Property::always(e1, |_, world: &World| world.replicas.iter().all(goes_on)),
    ];
    // A model in which nothing can go on would fulfil all of the above.
    properties.push(Property::sometimes("time comes to its end", |scenario: &Scenario, world| {
        scenario.is_over(world)
    }));
    if scenario.last_call {
        properties.push(Property::always(l1, |scenario: &Scenario, world| {
            is_replaced_in_time(world, &scenario.policy)
        }));
    }
    if scenario.heals {
        properties.push(Property::always(well, |scenario: &Scenario, world| scenario.heals_from(world)));
    }
    properties
}

/// Every leaf that is presented: (not that of a replica which ends).
fn presented(world: &World) -> impl Iterator<Item = &LeafFacts> {
    let leaves =
        world.replicas.iter().filter(|replica| replica.up).filter_map(|replica| replica.seen.leaf.as_ref());
    leaves.filter(|leaf| leaf.not_after >= world.now && !world.revoked.contains(&leaf.issuer))
}

fn accepts(published: &Published, leaf: &LeafFacts) -> bool {
    published.bundle.contains(&leaf.issuer)
        || leaf.bridge.is_some_and(|bridge| published.bundle.contains(&bridge))
}

pub(crate) fn verifies(world: &World) -> bool {
    let mut views = world.objects.iter().flat_map(Object::seen).filter(|published| published.ours);
    views.all(|published| presented(world).all(|leaf| accepts(published, leaf)))
}

fn ours(world: &World) -> impl Iterator<Item = &Published> {
    world.objects.iter().filter_map(Object::newest).filter(|published| published.ours)
}

fn keeps_what_is_needed(world: &World) -> bool {
    ours(world).all(|published| presented(world).all(|leaf| accepts(published, leaf)))
}

fn is_in_order(world: &World) -> bool {
    let RingFacts::Known(facts) = &world.ring else { return !world.disorder };
    let count = |state| facts.authorities.iter().filter(|ca| ca.state == state).count();
    !world.disorder && count(AuthorityState::Active) == 1 && count(AuthorityState::Next) == 1
}

fn ends_in_time(world: &World, policy: &Policy) -> bool {
    world.replicas.iter().all(|replica| {
        replica.seen.leaf.as_ref().is_none_or(|leaf| {
            let facts = world.ring.facts();
            let end = facts
                .and_then(|facts| facts.authority(leaf.issuer))
                .filter(|ca| matches!(ca.state, AuthorityState::Active | AuthorityState::Retired { .. }));
            end.is_none_or(|ca| leaf.not_after <= ca.not_after)
                // Without rule S3 no lease is promised: then the harm is what counts.
                && (!policy.enforces(Rule::S3) || replica.seen.confirmed.is_some_and(|read| leaf.not_after <= read.plus(policy.leaf_life)))
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
