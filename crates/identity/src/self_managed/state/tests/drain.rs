//! A replica that drains registers nothing.

use serde_json::json;

use super::entries::{CLAIM, annotation, edit, hooks, ready, replica, serve, tell};
use super::*;
use crate::self_managed::api_client::Purpose;

/// Longer than a drain, a settle and a claim take together.
const MINUTES: usize = 10;

/// Everything that this replica writes into the configuration in the next minutes.
fn written(bench: &mut Bench) -> Vec<Purpose> {
    let mut written = Vec::new();
    for _ in 0..MINUTES * 60 {
        for _ in 0..100 {
            let Some(operation) = bench.state.decide(bench.now, bench.at) else { break };
            if let Operation::Publish { purpose, .. } = &operation {
                written.push(*purpose);
            }
            bench.perform(operation);
        }
        bench.pass(Duration::from_secs(1));
    }
    written
}

/// From an empty cluster to the entries, in steps: an operation each, or a second without one. At each of them the drain may begin.
fn step(bench: &mut Bench) {
    match bench.state.decide(bench.now, bench.at) {
        Some(operation) => drop(bench.perform(operation)),
        None => bench.pass(Duration::from_secs(1)),
    }
    // `/readyz` says ok, and the server tells the identity so.
    if bench.status().waiting_for.is_none() {
        bench.state.serving(bench.at);
    }
}

fn empty(hooks: &[&str]) -> Bench {
    let metadata =
        json!({ "name": "hooks", "resourceVersion": "0", "creationTimestamp": "2026-01-01T00:00:00Z" });
    let configuration = Some(json!({ "metadata": metadata }));
    Bench { state: replica(hooks), configuration, ..Bench::new() }
}

/// SIGTERM came while the entries settled: they were written seven seconds later, three seconds before the process ended.
#[test]
fn nothing_is_registered_once_a_drain_has_begun_at_any_moment_of_a_start() {
    let (mut moments, mut bundles) = (0, 0);
    loop {
        let mut bench = empty(&["a"]);
        (0..moments).for_each(|_| step(&mut bench));
        // That moment was the last: the entries are written.
        if !hooks(&bench).is_empty() {
            break;
        }
        bundles += usize::from(annotation(&bench, "vestibule.dev/ca-generation").is_some());
        bench.state.draining();
        // A probe that is answered late.
        bench.state.serving(bench.at);
        assert_eq!(written(&mut bench), [], "drained from step {moments} on");
        moments += 1;
    }
    assert!((40..200).contains(&moments), "{moments} steps: both waits, and each request");
    assert!(bundles > 5, "some of these drains began after the bundle was published: {bundles}");
}

#[test]
fn a_draining_replica_brings_no_entry_and_no_bundle_back_and_takes_none_away() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    bench.state.draining();
    edit(&mut bench, |object| object["webhooks"] = json!([]));
    tell(&mut bench, &["b"]);
    assert_eq!(written(&mut bench), []);
    let other =
        json!({ "name": "x", "clientConfig": { "service": { "namespace": "demo", "name": "hooks" } } });
    edit(&mut bench, |object| object["webhooks"] = json!([other]));
    assert_eq!(written(&mut bench), [], "no bundle");
}

/// Its hooks are still called, so a version with other hooks has to wait for it.
#[test]
fn a_draining_replica_objects_to_claims_and_makes_none() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    bench.state.draining();
    edit(&mut bench, |object| object["metadata"]["annotations"][CLAIM] = json!("another version"));
    assert_eq!(written(&mut bench), [Purpose::Objection]);
    assert_eq!(annotation(&bench, CLAIM), None);

    bench.state = replica(&["b"]);
    bench.watch_configuration();
    for _ in 0..40 {
        bench.run();
        bench.pass(Duration::from_secs(1));
    }
    bench.state.serving(bench.at);
    bench.state.draining();
    assert_eq!(written(&mut bench), []);
}

/// Calls are answered until the end of a drain, however long that is: a certificate that is due is renewed.
#[test]
fn a_draining_replica_goes_on_presenting_a_certificate() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    let before = bench.state.seen.leaf.as_ref().unwrap().not_after;
    bench.state.draining();
    // Beyond the random moment after two thirds of the seven days.
    bench.pass(Duration::from_secs(6 * 24 * 60 * 60));
    assert!(bench.run().is_some());
    assert!(bench.state.seen.leaf.as_ref().unwrap().not_after > before);
}
