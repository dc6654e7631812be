//! Entries of one version, and of two.

use serde_json::{Value, json};

use super::*;
use crate::Desired;

const ENTRIES: &str = "vestibule.dev/entries";
pub(super) const CLAIM: &str = "vestibule.dev/entries-claim";

fn desired(hooks: &[&str]) -> Desired {
    let entry = |name: &&str| {
        let service = json!({ "namespace": "demo", "name": "hooks" });
        json!({ "name": name, "clientConfig": { "service": service } })
    };
    Desired::new("mutating/hooks".parse().unwrap(), hooks.iter().map(entry).collect()).unwrap()
}

/// A replica that is ready, of the version with these hooks; and a configuration that was installed without entries.
pub(super) fn ready(hooks: &[&str]) -> Bench {
    let mut bench = Bench { state: replica(hooks), ..Bench::new() };
    bench.configuration = Some(
        json!({ "metadata": { "name": "hooks", "resourceVersion": "0", "creationTimestamp": "2026-01-01T00:00:00Z" } }),
    );
    bench.run();
    bench.pass(Duration::from_secs(31));
    assert!(bench.run().is_some(), "it has a certificate");
    bench
}

pub(super) fn replica(hooks: &[&str]) -> State {
    let mut settings = state(&["mutating/hooks"]).settings;
    settings.desired = vec![desired(hooks)];
    let secret = settings.secret.clone().unwrap();
    State::new(settings, secret)
}

/// A cluster for a moment in the hands of another replica.
pub(super) fn with(bench: &mut Bench, other: &mut State, work: impl FnOnce(&mut Bench)) {
    std::mem::swap(&mut bench.state, other);
    if bench.state.registrations[0].snapshot.is_some() {
        bench.watch_configuration();
    }
    work(bench);
    std::mem::swap(&mut bench.state, other);
    bench.watch_configuration();
}

pub(super) fn serve(bench: &mut Bench) {
    bench.state.serving(bench.at);
    bench.pass(Duration::from_secs(10));
    bench.run();
}

/// Another replica, until it serves.
pub(super) fn begin(bench: &mut Bench) {
    bench.watch_configuration();
    bench.run();
    bench.pass(Duration::from_secs(31));
    assert!(bench.run().is_some());
    serve(bench);
}

pub(super) fn hooks(bench: &Bench) -> Vec<String> {
    let list = bench.configuration.as_ref().unwrap()["webhooks"].as_array().cloned().unwrap_or_default();
    list.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn annotation(bench: &Bench, key: &str) -> Option<String> {
    bench.configuration.as_ref().unwrap()["metadata"]["annotations"][key].as_str().map(ToOwned::to_owned)
}

pub(super) fn edit(bench: &mut Bench, edit: impl FnOnce(&mut Value)) {
    bench.version += 1;
    let object = bench.configuration.as_mut().unwrap();
    edit(object);
    object["metadata"]["resourceVersion"] = json!(bench.version.to_string());
    bench.watch_configuration();
}

#[test]
fn entries_are_written_once_a_replica_serves_and_their_bundle_verifies_its_certificate() {
    let mut bench = ready(&["a", "b"]);
    assert_eq!(bench.status().waiting_for, None);
    bench.pass(Duration::from_secs(600));
    bench.run();
    assert!(hooks(&bench).is_empty(), "no replica serves");
    bench.state.serving(bench.at);
    bench.pass(Duration::from_secs(9));
    bench.run();
    assert!(hooks(&bench).is_empty(), "endpoints are still to learn of it");
    bench.pass(Duration::from_secs(1));
    bench.run();
    assert_eq!(hooks(&bench), ["a", "b"]);
    let bundle = bench.state.ca_bundle.clone().unwrap();
    for entry in bench.configuration.as_ref().unwrap()["webhooks"].as_array().unwrap() {
        let held: ByteString = serde_json::from_value(entry["clientConfig"]["caBundle"].clone()).unwrap();
        assert_eq!(held.0, bundle.as_bytes());
    }
    assert!(bench.status().registrations[0].in_sync);
    let written = bench.version;
    bench.pass(Duration::from_secs(600));
    bench.run();
    assert_eq!(bench.version, written, "nothing is left to write");
}

#[test]
fn entries_that_vanish_come_back_and_what_others_make_of_them_stays() {
    let mut bench = ready(&["a", "b"]);
    serve(&mut bench);
    edit(&mut bench, |object| {
        object["webhooks"].as_array_mut().unwrap().remove(0);
        object["webhooks"][0]["timeoutSeconds"] = json!(3);
    });
    bench.run();
    assert_eq!(hooks(&bench), ["a", "b"], "at its old position");
    assert_eq!(bench.configuration.as_ref().unwrap()["webhooks"][1]["timeoutSeconds"], 3);
    // As `kubectl replace` of the manifest does: the mark is gone as well.
    edit(&mut bench, |object| {
        object.as_object_mut().unwrap().remove("webhooks");
        object["metadata"].as_object_mut().unwrap().remove("annotations");
    });
    bench.run();
    assert_eq!(hooks(&bench), ["a", "b"]);
    assert!(bench.state.notices.iter().all(|notice| notice.reason != Some("NoEntry")));
}

#[test]
fn nothing_is_written_with_a_ring_that_the_configuration_is_ahead_of() {
    let mut bench = ready(&["a"]);
    edit(&mut bench, |object| object["metadata"]["annotations"]["vestibule.dev/ca-generation"] = json!("9"));
    bench.state.serving(bench.at);
    bench.pass(Duration::from_secs(10));
    bench.run();
    let ring = bench.state.stored.as_ref().unwrap().facts().generation;
    assert!(ring > 9, "grafted onto");
    assert_eq!(annotation(&bench, "vestibule.dev/ca-generation"), Some(ring.to_string()));
    assert_eq!(hooks(&bench), ["a"], "and only then written");
}

#[test]
fn the_new_version_takes_over_when_no_replica_of_the_old_one_is_left() {
    let mut old = ready(&["a"]);
    serve(&mut old);
    let (mut bench, mut old) = (Bench { state: replica(&["a", "b"]), ..old }, replica(&["a"]));
    with(&mut bench, &mut old, begin);
    begin(&mut bench);
    assert_eq!(hooks(&bench), ["a"], "the new hook would be called on old replicas");
    assert_eq!(annotation(&bench, CLAIM).as_deref(), Some(&*desired(&["a", "b"]).hash));
    with(&mut bench, &mut old, |bench| drop(bench.run()));
    assert_eq!(annotation(&bench, CLAIM), None, "the old version objects");
    let version = bench.version;
    bench.run();
    assert_eq!(bench.version, version, "the next claim is made later");
    bench.pass(Duration::from_secs(61));
    bench.run();
    assert!(annotation(&bench, CLAIM).is_some());
    // The old replica is gone: no replica objects for the length of a hold.
    bench.pass(Duration::from_secs(30));
    bench.run();
    assert_eq!(hooks(&bench), ["a"]);
    bench.pass(Duration::from_secs(1));
    bench.run();
    assert_eq!(hooks(&bench), ["a", "b"]);
    assert_eq!(annotation(&bench, CLAIM), None);
    assert!(annotation(&bench, ENTRIES).unwrap().ends_with(" a b"));

    // A pod of the old version that starts now takes nothing back, as long as the new one is there.
    let mut late = replica(&["a"]);
    with(&mut bench, &mut late, begin);
    for _ in 0..20 {
        bench.run();
        assert_eq!(annotation(&bench, CLAIM), None);
        assert_eq!(hooks(&bench), ["a", "b"]);
        bench.pass(Duration::from_secs(20));
        with(&mut bench, &mut late, |bench| drop(bench.run()));
    }
}

#[test]
fn a_claim_of_a_version_that_is_gone_delays_no_other() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    bench.state = replica(&["b"]);
    edit(&mut bench, |object| object["metadata"]["annotations"][CLAIM] = json!("somebody"));
    begin(&mut bench);
    for _ in 0..20 {
        bench.pass(Duration::from_secs(10));
        bench.run();
    }
    assert_eq!(hooks(&bench), ["b"]);
}

#[test]
fn entries_of_a_manifest_are_taken_over_as_they_are() {
    let mut bench = ready(&["a"]);
    let entry = desired(&["a"]).entries()[0].clone();
    edit(&mut bench, |object| object["webhooks"] = json!([entry, { "name": "other", "clientConfig": {} }]));
    bench.run();
    let before = bench.configuration.as_ref().unwrap()["webhooks"].clone();
    assert!(before[0]["clientConfig"]["caBundle"].is_string(), "its bundle is kept like any other");
    assert_eq!(annotation(&bench, ENTRIES), None);
    serve(&mut bench);
    assert_eq!(bench.configuration.as_ref().unwrap()["webhooks"], before);
    assert!(annotation(&bench, ENTRIES).unwrap().ends_with(" a"));
    // The manifests of the other mode are applied: they hold no entries.
    edit(&mut bench, |object| object["webhooks"] = json!([{ "name": "other", "clientConfig": {} }]));
    bench.run();
    assert_eq!(hooks(&bench), ["other", "a"]);
}

#[test]
fn a_kind_without_hooks_is_not_waited_for_and_loses_what_an_earlier_version_wrote() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    let mut settings = state(&[]).settings;
    settings.desired = vec![desired(&[])];
    let secret = settings.secret.clone().unwrap();
    bench.state = State::new(settings, secret);
    bench.watch_configuration();
    assert!(bench.run().is_some(), "nothing to wait for");
    assert_eq!((bench.status().waiting_for, bench.status().registrations), (None, Vec::new()));
    serve(&mut bench);
    bench.pass(Duration::from_secs(31));
    bench.run();
    assert!(hooks(&bench).is_empty());
    tell(&mut bench, &["b"]);
    bench.run();
    assert!(hooks(&bench).is_empty(), "no replica would keep its bundle");
}

/// The desired entries of this replica change.
pub(super) fn tell(bench: &mut Bench, hooks: &[&str]) {
    bench.state.watch_event(WatchEvent::Desired(vec![desired(hooks)]), bench.now);
}

#[test]
fn a_replica_with_new_entries_changes_its_own_at_once() {
    let mut bench = ready(&["a"]);
    tell(&mut bench, &["a", "b"]);
    bench.run();
    assert!(hooks(&bench).is_empty(), "no replica serves");
    serve(&mut bench);
    assert_eq!(hooks(&bench), ["a", "b"]);
    for wanted in [&["b"][..], &[], &["a", "c"], &["a"]] {
        tell(&mut bench, wanted);
        bench.run();
        assert_eq!(hooks(&bench), wanted);
        let version = bench.version;
        tell(&mut bench, wanted);
        bench.run();
        assert_eq!(bench.version, version, "the same again is no news");
    }
    assert_eq!(annotation(&bench, CLAIM), None);
    // A removed new entry is written again, a removed old one is not.
    edit(&mut bench, |object| object["webhooks"] = json!([]));
    bench.run();
    assert_eq!(hooks(&bench), ["a"]);
}

#[test]
fn a_replica_that_learns_of_it_later_takes_nothing_back() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    let mut late = replica(&["a"]);
    with(&mut bench, &mut late, begin);
    tell(&mut bench, &["b"]);
    bench.run();
    with(&mut bench, &mut late, |bench| drop(bench.run()));
    assert_eq!(hooks(&bench), ["b"]);
    bench.run();
    assert_eq!(annotation(&bench, CLAIM), None, "the claim is withdrawn");
    with(&mut bench, &mut late, |bench| {
        tell(bench, &["b"]);
        bench.run();
    });
    let version = bench.version;
    bench.pass(Duration::from_secs(61));
    bench.run();
    assert_eq!((hooks(&bench), bench.version), (vec!["b".to_owned()], version));

    // The late replica misses a change and its undoing. That it makes the same two steps later does not let it write its own.
    tell(&mut bench, &["a"]);
    bench.run();
    tell(&mut bench, &["b"]);
    bench.run();
    with(&mut bench, &mut late, |bench| {
        tell(bench, &["c"]);
        tell(bench, &["b"]);
        bench.run();
    });
    assert_eq!((hooks(&bench), annotation(&bench, CLAIM)), (vec!["b".to_owned()], None));
}

/// The late replica wants other entries and then its first ones again, before it has written anything. A replica that changes
/// its entries after that is ahead of it.
#[test]
fn a_replica_that_had_nothing_to_write_takes_nothing_back() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    let mut late = replica(&["a"]);
    with(&mut bench, &mut late, begin);
    with(&mut bench, &mut late, |bench| {
        tell(bench, &["b"]);
        tell(bench, &["a"]);
        bench.state.registrations[0].outdated = true;
        bench.run();
    });
    tell(&mut bench, &["b"]);
    bench.run();
    with(&mut bench, &mut late, |bench| drop(bench.run()));
    assert_eq!(hooks(&bench), ["b"]);
}

#[test]
fn a_replica_does_not_change_entries_of_another_version() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    bench.state = replica(&["b"]);
    begin(&mut bench);
    tell(&mut bench, &["c"]);
    bench.run();
    assert_eq!(hooks(&bench), ["a"], "a replica without the new hook may be left");
    for _ in 0..20 {
        bench.pass(Duration::from_secs(10));
        bench.run();
    }
    assert_eq!(hooks(&bench), ["c"]);
}

/// The replica no longer waits for the answer, and it read the object before the write was applied.
#[test]
fn a_write_that_comes_through_late_is_undone_at_once() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    tell(&mut bench, &["b"]);
    bench.refusal = Some(ApiErrorKind::Unreachable);
    let late = bench.run_to_write();
    bench.refusal = None;
    tell(&mut bench, &["a"]);
    bench.run();
    bench.write_configuration(&late);
    bench.watch_configuration();
    assert_eq!(hooks(&bench), ["b"]);
    bench.run();
    assert_eq!((hooks(&bench), annotation(&bench, CLAIM)), (vec!["a".to_owned()], None));
}

#[test]
fn a_claim_that_came_too_late_for_one_version_is_made_over_the_next() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    bench.state = replica(&["b"]);
    bench.watch_configuration();
    bench.run();
    bench.pass(Duration::from_secs(31));
    bench.run();
    bench.state.serving(bench.at);
    bench.pass(Duration::from_secs(10));
    bench.refusal = Some(ApiErrorKind::Conflict);
    bench.run_to_write();
    bench.refusal = None;
    bench.pass(Duration::from_secs(1));
    bench.run();
    assert_eq!(annotation(&bench, CLAIM).as_deref(), Some(&*desired(&["b"]).hash));
}
