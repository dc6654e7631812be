//! Policies, clocks and versions that do not give way.

use serde_json::Value;

use super::entries::{begin, edit, hooks, ready, replica, serve, with};
use super::*;

fn bundle(bench: &Bench) -> Option<&str> {
    bench.configuration.as_ref()?["webhooks"][0]["clientConfig"]["caBundle"].as_str()
}

/// How often a configuration is written until nothing is to be done.
fn writes(bench: &mut Bench) -> usize {
    let mut writes = 0;
    for _ in 0..100 {
        match bench.state.decide(bench.now, bench.at) {
            None => return writes,
            Some(operation) => {
                writes += usize::from(matches!(operation, Operation::Publish { .. }));
                bench.perform(operation);
            }
        }
    }
    panic!("{writes} writes, and no end of it");
}

#[test]
fn a_policy_that_removes_annotations_is_not_raced() {
    let mut bench = Bench::registered();
    let good = bundle(&bench).unwrap().to_owned();
    bench.admission = Some(|object| drop(object["metadata"].as_object_mut().unwrap().remove("annotations")));
    bench.spoil_configuration();
    assert_eq!(writes(&mut bench), 1);
    assert_eq!(bundle(&bench), Some(&*good));
    assert!(
        bench.state.notices.iter().any(|notice| notice.text.contains("an admission policy removes them"))
    );
    bench.pass(Duration::from_secs(60));
    assert_eq!(writes(&mut bench), 0);
}

/// Without the annotation, the object does not tell that the entries were written.
#[test]
fn a_policy_that_removes_the_annotation_of_entries_is_not_raced() {
    let policies: [fn(&mut Value); 2] = [
        |object| drop(object["metadata"].as_object_mut().unwrap().remove("annotations")),
        |object| {
            let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
            annotations.retain(|key, _| !key.starts_with("vestibule.dev/"));
            annotations.insert("example.com/team".to_owned(), json!("shop"));
        },
    ];
    for policy in policies {
        let mut bench = ready(&["a"]);
        bench.admission = Some(policy);
        bench.state.serving(bench.at);
        let mut count = 0;
        for _ in 0..120 {
            bench.pass(Duration::from_secs(1));
            count += writes(&mut bench);
        }
        assert_eq!(hooks(&bench), ["a"]);
        assert!((3..=10).contains(&count), "{count} writes in two minutes");
        assert!(bench.state.notices.iter().any(|notice| notice.text.contains("whose entries these are")));
    }
}

/// During a roll-out, each version takes the entries for its own.
#[test]
fn two_versions_whose_annotation_is_removed_do_not_race_each_other() {
    let mut bench = ready(&["a"]);
    serve(&mut bench);
    let mut new = replica(&["b"]);
    with(&mut bench, &mut new, begin);
    let strip = |object: &mut Value| drop(object["metadata"].as_object_mut().unwrap().remove("annotations"));
    bench.admission = Some(strip);
    edit(&mut bench, strip);
    let mut count = 0;
    for _ in 0..60 {
        count += writes(&mut bench);
        with(&mut bench, &mut new, |bench| count += writes(bench));
        bench.pass(Duration::from_secs(1));
    }
    assert!(count <= 32, "{count} writes in a minute");
}

#[test]
fn a_bundle_that_is_not_kept_is_not_raced() {
    let mut bench = Bench::registered();
    bench.admission = Some(|object| object["webhooks"][0]["clientConfig"]["caBundle"] = Value::from(""));
    bench.spoil_configuration();
    let mut count = 0;
    for _ in 0..120 {
        count += writes(&mut bench);
        bench.pass(Duration::from_secs(1));
    }
    assert!((3..=8).contains(&count), "{count} writes in two minutes");
    assert!(bench.state.notices.iter().any(|notice| notice.text.contains("an admission policy changes it")));
    bench.admission = None;
    bench.pass(Duration::from_secs(30));
    assert_eq!(writes(&mut bench), 1);
    assert!(bundle(&bench).is_some_and(|bundle| !bundle.is_empty()));
}

/// ADR 0076: there is no earlier CA to present, so the replica waits, and says for which object and because of which program.
#[test]
fn on_a_first_start_a_bundle_that_a_tool_wipes_is_reported_with_the_name_of_the_tool() {
    let mut bench = Bench::new();
    bench.state = state(&["mutating/hooks"]);
    let service = json!({ "namespace": "demo", "name": "hooks" });
    bench.configuration = Some(json!({
        "metadata": {
            "name": "hooks", "resourceVersion": "0", "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{ "manager": "gitops", "time": "2026-01-01T00:00:00Z" }],
        },
        "webhooks": [{ "name": "a", "clientConfig": { "service": service } }],
    }));
    for _ in 0..120 {
        bench.run_without_waiting();
        bench.pass(Duration::from_secs(1));
        bench.spoil_configuration();
    }
    let waiting_for = bench.status().waiting_for.unwrap();
    assert_eq!(
        waiting_for,
        "mutating/hooks to keep the bundle for 30 s: gitops overwrites it again and again; stop it from writing caBundle"
    );
    let repairs = bench.state.notices.iter().filter(|notice| notice.reason == Some("BundleRepaired"));
    assert!(
        repairs.clone().count() > 10
            && repairs.clone().all(|notice| notice.text.contains("last written by gitops"))
    );
    // As soon as the tool stops, the CA is held and the replica is ready.
    bench.pass(Duration::from_secs(5));
    bench.run();
    bench.pass(Duration::from_secs(31));
    assert!(bench.run().is_some());
    assert_eq!(bench.status().waiting_for, None);
}

#[test]
fn a_clock_that_was_set_back_makes_a_replica_unready_until_it_has_a_valid_certificate() {
    let mut bench = Bench::registered();
    bench.now = bench.now.minus(Duration::from_secs(24 * 60 * 60));
    let waiting_for = bench.status().waiting_for.unwrap();
    assert!(waiting_for.contains("the API server's clock was set back"), "{waiting_for}");
    let before = bench.state.seen.leaf.clone().unwrap().issuer;
    bench.run();
    bench.pass(Duration::from_secs(31));
    assert!(bench.run().is_some());
    assert_eq!(bench.status().waiting_for, None);
    assert_ne!(bench.state.seen.leaf.as_ref().unwrap().issuer, before);
}

/// A newer version wrote the Secret and was rolled back.
#[test]
fn under_a_newer_ring_a_wiped_bundle_is_published_again() {
    let mut bench = Bench::registered();
    let good = bundle(&bench).unwrap().to_owned();
    bench.edit_secret(|data| {
        let ByteString(description) = serde_json::from_value(data["ring.json"].take()).unwrap();
        let description = String::from_utf8(description).unwrap();
        let newer = description.replacen("{\"schema\":2", "{\"schema\":9,\"more\":1", 1);
        data["ring.json"] = json!(ByteString(newer.into_bytes()));
    });
    bench.run();
    assert_eq!(bench.status().blocked, Some("newer_schema"));
    let secret = bench.secret.clone();
    bench.spoil_configuration();
    assert_eq!(writes(&mut bench), 1);
    assert_eq!(bundle(&bench), Some(&*good));
    assert_eq!(bench.secret, secret, "it is only read");
}
