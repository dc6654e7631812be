//! etcd was restored from a snapshot: the versions of objects go back.

use std::time::Duration;

use serde_json::json;

use super::bench::Bench;

/// A rotation after the snapshot, then the snapshot.
fn restored() -> Bench {
    let mut bench = Bench::registered();
    bench.pass(Duration::from_secs(25 * 60 * 60));
    bench.run();
    let snapshot = (bench.secret.clone(), bench.configuration.clone(), bench.version);
    bench.secret.as_mut().unwrap()["metadata"]["annotations"] = json!({ "vestibule.dev/rotate": "now" });
    bench.edit_secret(|_| {});
    let generation = bench.status().generation;
    bench.run();
    assert!(bench.status().generation > generation);
    (bench.secret, bench.configuration, bench.version) = snapshot;
    bench
}

#[test]
fn after_a_restore_of_etcd_a_changed_bundle_is_repaired() {
    let mut bench = restored();
    bench.spoil_configuration();
    bench.run();
    bench.pass(Duration::from_secs(60));
    bench.run();
    let bundle = bench.configuration.as_ref().unwrap()["webhooks"][0]["clientConfig"]["caBundle"].clone();
    assert_eq!(bundle, bench.secret.as_ref().unwrap()["data"]["ca.crt"]);
    assert_eq!(bench.status().blocked, None);
}

#[test]
fn after_a_restore_of_etcd_the_ring_goes_on() {
    let mut bench = restored();
    for _ in 0..5 {
        bench.pass(Duration::from_secs(11 * 60));
        bench.run();
    }
    let status = bench.status();
    assert!(status.registrations.iter().all(|registration| registration.in_sync), "{status:?}");
    assert_eq!(status.waiting_for, None);
    let bundle = bench.configuration.as_ref().unwrap()["webhooks"][0]["clientConfig"]["caBundle"].clone();
    assert_eq!(bundle, bench.secret.as_ref().unwrap()["data"]["ca.crt"]);
}

#[test]
fn after_a_restore_of_etcd_a_changed_secret_is_read() {
    let mut bench = restored();
    bench.edit_secret(|data| data["ca.crt"] = "".into());
    bench.run();
    assert_ne!(bench.secret.as_ref().unwrap()["data"]["ca.crt"], "");
}

/// A watch from a version that the restored API server has not reached yet reports nothing.
#[test]
fn after_a_restore_of_etcd_a_silent_watch_hides_no_change() {
    let mut bench = Bench::registered();
    bench.run();
    bench.configuration.as_mut().unwrap()["webhooks"][0]["clientConfig"]["caBundle"] = json!("");
    bench.run();
    bench.pass(Duration::from_secs(11 * 60));
    bench.run();
    let bundle = &bench.configuration.as_ref().unwrap()["webhooks"][0]["clientConfig"]["caBundle"];
    assert_eq!(*bundle, bench.secret.as_ref().unwrap()["data"]["ca.crt"]);
}
