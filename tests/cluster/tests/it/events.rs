//! Events on the owners of pods, under the printed rights.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use vestibule::identity::events::{Events, Report};
use vestibule_injector::{Namespaces, app, compile};

use crate::cluster::Cluster;
use crate::reload::as_printed;
use crate::samples::pod;

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
";

/// All Events, once one of them is as `expected`.
async fn told(events: &Api<Event>, expected: impl Fn(&Event) -> bool) -> Vec<Event> {
    let told = async {
        loop {
            let found = events.list(&ListParams::default()).await.unwrap().items;
            if found.iter().any(&expected) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("nobody was told")
}

#[tokio::test]
async fn the_owner_of_a_pod_without_its_sidecar_gets_an_event() {
    let Some(cluster) = Cluster::shared().await else { return };
    let rules = compile([("rules.yaml", RULES)]).ok().unwrap();
    let app = app(rules, Namespaces::watched(as_printed(&cluster).await)).unwrap();
    let _webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let mut conflicting = pod("web-5d4f-x", &[("app", "app:1")]);
    conflicting["metadata"]["labels"] = json!({"app": "web"});
    conflicting["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "name": "web-5d4f", "uid": "8d2b6f2e-8d4f-4c58-9d0e-5d4f00000001", "controller": true}]);
    conflicting["spec"]["volumes"] = json!([{"name": "data", "hostPath": {"path": "/s3cret"}}]);
    namespace.create_dry_run(&conflicting).await.object();
    let created = namespace.create(&conflicting).await.object();
    let is_bare = created["spec"]["volumes"].as_array().unwrap().iter().all(|one| one["emptyDir"].is_null());
    assert!(is_bare, "{created}");

    let events = Api::<Event>::namespaced(cluster.client(), namespace.name());
    let told = told(&events, |_| true).await;
    assert_eq!(told.len(), 1);
    let event = &told[0];
    assert_eq!(
        (event.type_.as_deref(), event.reason.as_deref()),
        (Some("Warning"), Some("InjectionConflict"))
    );
    let regarding = event.regarding.as_ref().unwrap();
    assert_eq!(
        (regarding.kind.as_deref(), regarding.name.as_deref()),
        (Some("ReplicaSet"), Some("web-5d4f"))
    );
    let note = event.note.as_deref().unwrap();
    assert!(note.starts_with("rule data left Pod web-5d4f-x as it is: volume `data`"), "{note}");
    assert!(!note.contains("s3cret"), "{note}");
    // The second call of one creation and the dry run before it caused no further Event.
    assert!(event.series.is_none());
}

/// Three occurrences, within the rate limit, are one Event with a count.
#[tokio::test]
async fn a_repeated_event_increments_the_count_of_the_existing_one() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;

    let (events, waiting) = Events::queue(Duration::ZERO);
    let writing = tokio::spawn(waiting.write(as_printed(&cluster).await, "vestibule.dev/test"));
    let seen = Api::<Event>::namespaced(cluster.client(), namespace.name());
    for count in 1..=3 {
        events.tell(Report {
            about: ObjectReference {
                kind: Some("ReplicaSet".to_owned()),
                name: Some("web-5d4f".to_owned()),
                namespace: Some(namespace.name().to_owned()),
                uid: Some("8d2b6f2e-8d4f-4c58-9d0e-5d4f00000001".to_owned()),
                ..ObjectReference::default()
            },
            is_warning: true,
            reason: "InjectionConflict",
            action: "Inject data".to_owned(),
            note: format!("for the time {count}"),
        });
        let times = |event: &Event| event.series.as_ref().map_or(1, |series| series.count);
        let told = told(&seen, |event| times(event) == count).await;
        assert_eq!(told.len(), 1, "{told:?}");
    }
    drop(events);
    writing.await.unwrap();
}
