//! Tests of the operator on a real kube-apiserver.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod load;
mod page;
mod process;

use std::time::Duration;

use operator_identity::manifests;
use serde_json::json;
use vestibule_identity::{NamespacedName, Policy, Source};
use vestibule_testenv::{self as testenv, Options};

use crate::cluster::{Cluster, until};
use crate::load::Load;

/// Lifetimes of a few seconds.
fn policy() -> Policy {
    let seconds = Duration::from_secs;
    let mut policy = Policy::default();
    (policy.authority_life, policy.leaf_life) = (seconds(300), seconds(10));
    (policy.hold, policy.hold_cold) = (seconds(2), seconds(2));
    (policy.skew, policy.recheck) = (seconds(1), seconds(1));
    policy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotations_lose_no_read_of_the_older_version_and_write_the_definition_twice_each() {
    const ROTATIONS: i64 = 2;
    let Some(env) = testenv::start_or_skip(&Options::default()).await else { return };
    let cluster = Cluster::new(&env).await;
    let operator = cluster.operator(&Source::SelfManaged, policy()).await;

    let spec = json!({ "address": "example.org:8080" });
    cluster.create("v1", "one", &spec).await;
    assert_eq!(cluster.spec("v2", "one").await.unwrap(), json!({ "host": "example.org", "port": 8080 }));
    assert_eq!(cluster.spec("v1", "one").await.unwrap(), spec);
    until("the ConfigMap is written", async || {
        cluster.url("one").await.as_deref() == Some("http://example.org:8080")
    })
    .await;

    let load = Load::start(&cluster);
    let before = cluster.definition_generation().await;
    for rotation in 0..ROTATIONS {
        let old = operator.identity.present().unwrap();
        cluster.rotate(&format!("{rotation}")).await;
        until("the old CA is there beside the new ones", async || operator.certificates() == 3).await;
        until("the old CA has gone", async || operator.certificates() == 2).await;
        assert_ne!(operator.identity.present().unwrap().chain, old.chain);
    }
    cluster.create("v1", "two", &json!({ "address": "example.org:8080" })).await;
    until("the reconciler hears of another one", async || cluster.url("two").await.is_some()).await;
    let written = cluster.definition_generation().await - before;
    let (reads, failures) = load.end().await;

    assert_eq!(failures, [""; 0], "of {reads} reads");
    assert!(reads > 200, "{reads} reads are no load");
    assert!((1..=2 * ROTATIONS).contains(&written), "{written} writes of the definition");
    drop(operator);
    until("reads fail without the operator", async || cluster.spec("v1", "one").await.is_err()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_off_there_is_no_webhook_no_secret_and_no_right_for_one() {
    let Some(env) = testenv::start_or_skip(&Options::default()).await else { return };
    let cluster = Cluster::new(&env).await;
    let operator = cluster.operator(&Source::Off, policy()).await;
    assert!(operator.identity.present().is_none());

    cluster.create("v2", "one", &json!({ "host": "example.org", "port": 80 })).await;
    until("the ConfigMap is written", async || {
        cluster.url("one").await.as_deref() == Some("http://example.org:80")
    })
    .await;
    assert_eq!(cluster.secrets().await, 0);
}

#[test]
fn rights_are_on_named_objects_and_only_with_a_certificate() {
    let service = NamespacedName { namespace: "demo".to_owned(), name: "widgets".to_owned() };
    let kinds = |source: &Source| -> Vec<String> {
        let objects = manifests::manifests(source, &service, 443);
        objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&Source::Off), ["CustomResourceDefinition", "Role", "RoleBinding"]);
    let own = manifests::manifests(&Source::SelfManaged, &service, 443);
    let rules = own.iter().filter_map(|object| object["rules"].as_array()).flatten();
    for rule in rules {
        let resources = rule["resources"].as_array().unwrap();
        let verbs: Vec<_> =
            rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
        assert!(!verbs.contains(&"*") && !verbs.contains(&"delete"), "{rule}");
        let guarded = resources.iter().any(|one| one == "secrets" || one == "customresourcedefinitions");
        assert!(!guarded || verbs == ["create"] || rule.get("resourceNames").is_some(), "{rule}");
    }
}
