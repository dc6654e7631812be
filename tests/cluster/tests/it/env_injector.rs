//! The example `env-injector`: TARGET into deployments of helloworld-go.

use serde_json::json;
use vestibule_admission::Decision;

use crate::cluster::Cluster;
use crate::samples::{deployment, helloworld};

#[tokio::test]
async fn a_deployment_is_created_with_target() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&helloworld()).await.object();
    let container = &created["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"], json!([{ "name": "TARGET", "value": "Sample Injector v1" }]));
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
    let stored = namespace.read(&helloworld()).await.object();
    assert_eq!(&stored["spec"]["template"]["spec"]["containers"][0], container);
}

#[tokio::test]
async fn every_container_gets_target() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let two = deployment("helloworld-go", &[("hello", "hello:1"), ("world", "world:1")]);
    let created = namespace.create(&two).await.object();
    for container in created["spec"]["template"]["spec"]["containers"].as_array().unwrap() {
        assert_eq!(container["env"], json!([{ "name": "TARGET", "value": "Sample Injector v1" }]));
    }
}

#[tokio::test]
async fn an_existing_target_is_replaced_and_other_variables_stay() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = helloworld();
    let container = &mut object["spec"]["template"]["spec"]["containers"][0];
    container["env"] = json!([
        { "name": "FIRST", "value": "1" },
        { "name": "TARGET", "value": "theirs" },
        { "name": "LAST", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.name" } } },
    ]);
    let neighbours = [container["env"][0].clone(), container["env"][2].clone()];
    let created = namespace.create(&object).await.object();
    let env = &created["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(
        env,
        &json!([{ "name": "TARGET", "value": "Sample Injector v1" }, neighbours[0], neighbours[1]])
    );
}

#[tokio::test]
async fn an_update_that_changes_nothing_sends_no_patch() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&helloworld()).await.object();
    webhook.decisions.take();
    let replaced = namespace.replace(&created).await.object();
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Allowed]);
    assert_eq!(replaced["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn an_update_without_target_gets_it_again() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = namespace.create(&helloworld()).await.object();
    webhook.decisions.take();
    object["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("env");
    let replaced = namespace.replace(&object).await.object();
    let container = &replaced["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["name"], "TARGET");
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Mutated(1)]);
}

#[tokio::test]
async fn no_call_is_made_for_other_deployments() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&deployment("other", &[("app", "other:1")])).await.object();
    assert!(created["spec"]["template"]["spec"]["containers"][0].get("env").is_none());
    assert!(webhook.decisions.take().is_empty());
}

#[tokio::test]
async fn the_namespace_of_the_webhook_itself_is_left_out() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;

    // It has the label by which the test's other namespaces are selected.
    let created = cluster.home.create(&helloworld()).await.object();
    assert!(created["spec"]["template"]["spec"]["containers"][0].get("env").is_none());
    assert!(webhook.decisions.take().is_empty());
}
