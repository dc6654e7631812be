//! Every order of events of small clusters. `cargo test -p model`; more of it: `cargo test -p model -- --ignored`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, clippy::print_stdout)]

mod bites;
mod holds;
mod scenarios;

use model::{NAMES, Scenario};
use stateright::{Checker, HasDiscoveries, Model};
use vestibule_pki::ring::Rule;

/// Walks all states.
fn walk(name: &str, scenario: Scenario) {
    let before = std::time::Instant::now();
    let checker = scenario.checker().spawn_bfs().join();
    println!(
        "{name}: {} states, depth {}, {:.1} s",
        checker.unique_state_count(),
        checker.max_depth(),
        before.elapsed().as_secs_f32()
    );
    for (name, path) in checker.discoveries().into_iter().filter(|(name, _)| NAMES.contains(name)) {
        println!("{name}: {:?}", path.into_actions());
    }
    checker.assert_properties();
}

/// Walks until a counterexample of one of the invariants is found, and says how long it is.
fn must_fail(rule: Rule, mut scenario: Scenario) {
    scenario.policy = scenario.policy.clone().without(rule);
    let before = std::time::Instant::now();
    let failures = HasDiscoveries::AnyFailures;
    let checker = scenario.checker().finish_when(failures).spawn_bfs().join();
    let found = checker.discoveries().into_iter().find(|(name, _)| NAMES.contains(name));
    let states = checker.unique_state_count();
    let Some((name, path)) = found else { panic!("rule {rule:?} is off, and {states} states show no harm") };
    let events = path.into_actions();
    println!(
        "without {rule:?}: {name:.2} fails after {} events ({states} states, {:.1} s): {events:?}",
        events.len(),
        before.elapsed().as_secs_f32()
    );
}
