//! `env-injector`: TARGET is added to deployments of helloworld-go and to no others.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::{Value, json};
use vestibule_test::Cluster;

use crate::cluster::{api, object};

fn deployment(app: &str) -> Deployment {
    object(json!({
        "metadata": { "name": app, "labels": { "app": app } },
        "spec": {
            "selector": { "matchLabels": { "app": app } },
            "template": {
                "metadata": { "labels": { "app": app } },
                "spec": { "containers": [{
                    "name": "user-container", "image": "example.org/helloworld-go",
                    "env": [{ "name": "FIRST", "value": "1" }],
                }] },
            },
        },
    }))
}

fn env(deployment: &Deployment) -> Value {
    let deployment = serde_json::to_value(deployment).unwrap();
    deployment["spec"]["template"]["spec"]["containers"][0]["env"].clone()
}

#[tokio::test]
async fn target_is_the_first_variable_of_deployments_with_the_label() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(env_injector::app()).await;
    let deployments: Api<Deployment> = api(&cluster, &cluster.namespace(&[]).await);

    let created = deployments.create(&<_>::default(), &deployment("helloworld-go")).await.unwrap();
    let (target, first) = (
        json!({ "name": "TARGET", "value": "Sample Injector v1" }),
        json!({ "name": "FIRST", "value": "1" }),
    );
    assert_eq!(env(&created), json!([target, first]));
    let other = deployments.create(&<_>::default(), &deployment("other")).await.unwrap();
    assert_eq!(env(&other), json!([first]));
}
