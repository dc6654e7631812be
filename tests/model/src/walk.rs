//! Runs the model checker.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path};

use crate::{Event, INVARIANTS, Scenario, World};

/// The result of walking all states of a scenario.
pub struct Walk {
    /// How many states there are, up to the names of replicas.
    pub states: usize,
    /// The longest way to one of them, in events.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The broken invariants.
    pub broken: Vec<Counterexample>,
    /// Whether time came to its end: a model in which nothing can go on breaks nothing.
    pub ends: bool,
    /// Whether all states were walked within the time limit.
    pub is_whole: bool,
}

/// A way to a state in which an invariant does not hold.
pub struct Counterexample {
    /// The invariant.
    pub invariant: &'static str,
    /// The events in words.
    pub steps: Vec<String>,
    /// How many states were looked at before it was found.
    pub states: usize,
}

/// Walks through all states.
pub fn walk(scenario: Scenario, threads: usize) -> Walk {
    walk_for(Duration::MAX, scenario, threads)
}

/// Walks states until the time limit.
pub fn walk_for(limit: Duration, scenario: Scenario, threads: usize) -> Walk {
    let before = Instant::now();
    // Depth first, for only that can take replicas for each other.
    let checker = scenario.checker().threads(threads).symmetry_fn(World::representative);
    let checker = if limit == Duration::MAX { checker } else { checker.timeout(limit) };
    let checker = checker.spawn_dfs().join();
    let (took, states, depth) = (before.elapsed(), checker.unique_state_count(), checker.max_depth());
    let mut walk = Walk { states, depth, took, broken: Vec::new(), ends: false, is_whole: took < limit };
    for (name, path) in checker.discoveries() {
        if is_invariant(name) {
            let steps = describe(checker.model(), path);
            walk.broken.push(Counterexample { invariant: name, steps, states });
        } else {
            walk.ends = true;
        }
    }
    walk
}

/// Walks until a shortest counterexample is found.
///
/// # Errors
/// The number of states, none of which breaks an invariant.
pub fn search(scenario: Scenario, threads: usize) -> Result<Counterexample, usize> {
    let checker =
        scenario.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let states = checker.unique_state_count();
    let found = checker.discoveries().into_iter().filter(|(name, _)| is_invariant(name));
    let found = found.map(|(name, path)| (name, describe(checker.model(), path)));
    // By name as well, so that it is the same one every time.
    let first = found.min_by_key(|(name, steps)| (steps.len(), *name));
    first.map(|(invariant, steps)| Counterexample { invariant, steps, states }).ok_or(states)
}

fn is_invariant(name: &str) -> bool {
    INVARIANTS.iter().any(|invariant| invariant.says == name)
}

fn describe(scenario: &Scenario, path: Path<World, Event>) -> Vec<String> {
    let steps = path.into_vec().into_iter();
    steps.filter_map(|(world, event)| event.map(|event| scenario.describe(&world, event))).collect()
}
