//! Large objects of HTML: kube-apiserver writes each `<`, `>` and `&` of a review as six bytes.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Change, Context, FailurePolicy, Reject, on};
use vestibule_admission::Decision;

use crate::cluster::Cluster;
use crate::samples::{config_map, deployment};

const MIB: usize = 1 << 20;

fn app() -> App {
    async fn label(mut object: Deployment, context: Context) -> Result<Deployment, Reject> {
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("last".to_owned(), context.operation().as_str().to_owned());
        Ok(object)
    }
    async fn annotate(mut object: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert("last".to_owned(), context.operation().as_str().to_owned());
        Ok(object)
    }
    async fn look(_: Change<Deployment>, _: Context) -> Result<(), Reject> {
        Ok(())
    }
    App::new("html")
        .mutate(
            "deployments",
            on([Create, Update]).timeout_seconds(30).failure_policy(FailurePolicy::Fail),
            label,
        )
        .mutate(
            "config-maps",
            on([Create, Update]).timeout_seconds(30).failure_policy(FailurePolicy::Fail),
            annotate,
        )
        .validate("look", on([Create, Update]).timeout_seconds(30).failure_policy(FailurePolicy::Fail), look)
}

/// A review of 8.8 MB, and one of 17.6 MB: the object has 1.4 MiB, near the limit of etcd.
#[tokio::test]
async fn an_object_with_html_is_created_and_updated() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = deployment("page", &[("web", "web:1")]);
    let html = "<".repeat(14 * MIB / 10);
    object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "PAGE", "value": html }]);
    let created = namespace.create(&object).await.object();
    assert_eq!(created["metadata"]["labels"]["last"], "CREATE");
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1), Decision::Allowed]);
    let patch = json!({ "metadata": { "annotations": { "touched": "true" } } });
    let updated = namespace.merge(&object, &patch).await.object();
    assert_eq!(updated["metadata"]["labels"]["last"], "UPDATE");
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Mutated(1), Decision::Allowed]);
}

#[tokio::test]
async fn a_config_map_with_html_is_created_and_updated_and_the_api_server_limits_its_size() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = config_map("page");
    object["data"] = json!({ "index.html": "<".repeat(MIB) });
    let created = namespace.create(&object).await.object();
    assert_eq!(created["metadata"]["annotations"]["last"], "CREATE");
    let patch = json!({ "metadata": { "labels": { "touched": "true" } } });
    let updated = namespace.merge(&object, &patch).await.object();
    assert_eq!(updated["metadata"]["annotations"]["last"], "UPDATE");
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Mutated(1)]);

    // The API server enforces the limit of 1 MiB for ConfigMaps itself, after the webhook.
    let mut larger = config_map("larger");
    larger["data"] = json!({ "index.html": "<".repeat(14 * MIB / 10) });
    let message = namespace.create(&larger).await.refusal(422);
    assert!(message.contains("1048576"), "{message}");
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
}
