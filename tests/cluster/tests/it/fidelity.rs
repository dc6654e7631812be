//! Unknown fields, and fields of other writers, are unchanged.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use vestibule::Operation::{Create, Update};
use vestibule::{App, Context, FailurePolicy, Reject, deny, on};
use vestibule_admission::Decision;

use crate::cluster::Cluster;
use crate::samples::{config_map, deployment, helloworld, names, pod};
use crate::widget::{Part, Widget};

/// Grows a widget, paints its part `hull`, and puts a part first.
async fn refit(mut widget: Widget, _: Context) -> Result<Widget, Reject> {
    let labels = widget.metadata.labels.get_or_insert_default();
    if labels.insert("refitted".to_owned(), "true".to_owned()).is_some() {
        return Ok(widget);
    }
    widget.spec.size += 1;
    for part in widget.spec.parts.iter_mut().filter(|part| part.name == "hull") {
        part.colour = Some("red".to_owned());
    }
    widget.spec.parts.insert(0, Part { name: "bow".to_owned(), colour: None });
    Ok(widget)
}

fn refits() -> App {
    App::new("refits").mutate("refit", on([Create, Update]).failure_policy(FailurePolicy::Fail), refit)
}

fn widget() -> Value {
    json!({
        "apiVersion": "cluster.test/v1",
        "kind": "Widget",
        "metadata": { "name": "ship" },
        "spec": {
            "size": 9_007_199_254_740_993_u64,
            "cargo": { "grain": [1, "two", null, { "deep": [{}] }], "tons": 9_223_372_036_854_775_807_u64 },
            "parts": [
                { "name": "mast", "height": 12.5 },
                { "name": "hull", "bolts": 9_007_199_254_740_993_u64, "dents": [{ "side": "port" }] },
            ],
        },
    })
}

#[tokio::test]
async fn fields_that_no_type_knows_survive_in_objects_and_in_list_items() {
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let webhook = cluster.serve(refits()).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&widget()).await.object();
    let mut expected = widget()["spec"].clone();
    expected["size"] = json!(9_007_199_254_740_994_u64);
    expected["parts"][1]["colour"] = json!("red");
    expected["parts"].as_array_mut().unwrap().insert(0, json!({ "name": "bow" }));
    assert_eq!(created["spec"], expected);
    // The patch has the labels, the size, the colour and the part, and rewrites no existing value.
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(4)]));
}

#[tokio::test]
async fn integers_beyond_double_precision_pass_exactly() {
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let _webhook = cluster.serve(refits()).await;
    let namespace = cluster.namespace(&[]).await;

    namespace.create(&widget()).await.object();
    // Compared as text, because a JSON parser in the test might round too.
    let stored = namespace.read(&widget()).await.text;
    for exact in
        [r#""size":9007199254740994"#, r#""bolts":9007199254740993"#, r#""tons":9223372036854775807"#]
    {
        assert!(stored.contains(exact), "{exact} is not in {stored}");
    }
}

/// The largest object that an API server can store, twice in one review: etcd accepts 1.5 MiB.
#[tokio::test]
async fn an_update_of_an_object_at_the_limit_of_etcd_is_served() {
    const LARGE: usize = 1_450_000;
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let webhook = cluster.serve(refits()).await;
    let namespace = cluster.namespace(&[]).await;
    let mut large = widget();
    large["spec"]["cargo"]["grain"] = json!("x".repeat(LARGE));
    namespace.create(&large).await.object();

    webhook.decisions.take();
    let unlabelled = json!({ "metadata": { "labels": { "refitted": null } } });
    let after = namespace.merge(&large, &unlabelled).await.object();
    assert!(matches!(webhook.decisions.take_distinct()[..], [Decision::Mutated(_)]));
    assert_eq!(after["metadata"]["labels"]["refitted"], "true");
    assert_eq!(after["spec"]["cargo"]["grain"].as_str().map(str::len), Some(LARGE));
}

#[tokio::test]
async fn managed_fields_of_others_are_intact() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let before = namespace.apply(&helloworld(), "alice").await.object();
    // Without TARGET, so that the hook has something to add when another writer changes the object.
    let without = json!([{ "name": "user-container", "image": "gcr.io/knative-samples/helloworld-go" }]);
    let by_bob = json!({
        "metadata": { "annotations": { "bob": "was here" } },
        "spec": { "template": { "spec": { "containers": without } } },
    });
    webhook.decisions.take();
    let after = namespace.merge(&helloworld(), &by_bob).await.object();
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Mutated(1)]);
    assert_eq!(before["metadata"]["managedFields"][0]["manager"], "alice");
    assert_eq!(after["metadata"]["managedFields"][0], before["metadata"]["managedFields"][0]);
    assert_eq!(after["metadata"]["managedFields"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn server_side_apply_again_is_no_conflict_and_changes_nothing() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let first = namespace.apply(&helloworld(), "alice").await.object();
    assert_eq!(first["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "TARGET");
    let second = namespace.apply(&helloworld(), "alice").await.object();
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Mutated(1), Decision::Allowed]);
}

#[tokio::test]
async fn an_applier_owns_its_fields_beside_the_injected_ones() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = helloworld();
    object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "MINE", "value": "1" }]);
    namespace.apply(&object, "alice").await.object();
    // Alice no longer applies MINE: it is removed, because she owned it, and TARGET stays.
    let given_up = namespace.apply(&helloworld(), "alice").await.object();
    let env = &given_up["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env, &json!([{ "name": "TARGET", "value": "Sample Injector v1" }]));
}

#[tokio::test]
async fn an_object_without_a_generated_name_is_known_by_its_prefix() {
    async fn label(mut object: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
        let (Some(prefix), None) = (context.generate_name(), context.name()) else {
            return Err(deny("a prefix and no name is what a new object has"));
        };
        let label = format!("{prefix}of-{}", context.namespace().unwrap_or_default());
        object.metadata.labels.get_or_insert_default().insert("seen".to_owned(), label);
        Ok(object)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster
        .serve(App::new("names").mutate("label", on([Create]).failure_policy(FailurePolicy::Fail), label))
        .await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = config_map("unused");
    object["metadata"] = json!({ "generateName": "made-" });
    let created = namespace.create(&object).await.object();
    assert_eq!(created["metadata"]["labels"]["seen"], format!("made-of-{}", namespace.name()));
    assert!(created["metadata"]["name"].as_str().unwrap().starts_with("made-"));
}

#[tokio::test]
async fn a_dry_run_is_changed_like_any_other_request_and_stores_nothing() {
    async fn label(mut object: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
        let dry_run = context.dry_run().to_string();
        object.data.get_or_insert_default().insert("dry-run".to_owned(), dry_run);
        Ok(object)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster
        .serve(App::new("dry-runs").mutate("label", on([Create]).failure_policy(FailurePolicy::Fail), label))
        .await;
    let namespace = cluster.namespace(&[]).await;

    let tried = namespace.create_dry_run(&config_map("a")).await.object();
    assert_eq!(tried["data"]["dry-run"], "true");
    namespace.read(&config_map("a")).await.refusal(404);
    let created = namespace.create(&config_map("a")).await.object();
    assert_eq!(created["data"]["dry-run"], "false");
}

#[tokio::test]
async fn a_typed_handler_of_pods_changes_one_field_of_a_full_pod() {
    use k8s_openapi::api::core::v1::Pod;
    async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
        pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
        Ok(pod)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let app =
        App::new("labels").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label);
    let namespace = cluster.namespace(&[]).await;
    let mut object = pod("full", &[("app", "app:1")]);
    object["metadata"]["labels"] = json!({ "app.kubernetes.io/name": "full" });
    object["spec"]["containers"][0]["resources"] = json!({ "limits": { "cpu": "1500m", "memory": "1Gi" } });
    object["spec"]["containers"][0]["livenessProbe"] =
        json!({ "httpGet": { "port": "web" }, "periodSeconds": 7 });
    object["spec"]["containers"][0]["ports"] = json!([{ "name": "web", "containerPort": 80 }]);
    object["spec"]["tolerations"] = json!([{ "key": "x", "operator": "Exists", "effect": "NoSchedule" }]);

    let without = namespace.create_dry_run(&object).await.object();
    let webhook = cluster.serve(app).await;
    let with = namespace.create_dry_run(&object).await.object();
    assert_eq!(with["metadata"]["labels"]["seen"], "true");
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
    assert_eq!(without_token(&with["spec"]), without_token(&without["spec"]));
}

/// A webhook must not move the fields of one writer to another.
#[tokio::test]
async fn another_applier_conflicts_with_the_first_and_not_with_us() {
    async fn pause(mut deployment: Deployment, _: Context) -> Result<Deployment, Reject> {
        deployment.spec.get_or_insert_default().min_ready_seconds = Some(3);
        Ok(deployment)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let hook = on::<Deployment>([Create]).failure_policy(FailurePolicy::Fail);
    let _webhook = cluster.serve(App::new("pauses").mutate("pause", hook, pause)).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = helloworld();
    object["spec"]["replicas"] = json!(2);
    let created = namespace.apply(&object, "alice").await.object();
    assert_eq!(created["spec"]["minReadySeconds"], 3);
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "helloworld-go" },
        "spec": { "replicas": 5 },
    });
    let conflict = namespace.apply(&theirs, "bob").await.refusal(409);
    assert!(conflict.contains("conflict with \"alice\""), "{conflict}");
    assert!(conflict.contains(".spec.replicas"), "{conflict}");
}

/// The API server's patch library applies our `move` as we do.
#[tokio::test]
async fn reordered_containers_are_moved_as_a_whole() {
    async fn turn(mut deployment: Deployment, _: Context) -> Result<Deployment, Reject> {
        let template = deployment.spec.as_mut().map(|spec| &mut spec.template);
        let pod = template.and_then(|template| template.spec.as_mut());
        pod.into_iter().for_each(|pod| pod.containers.rotate_left(1));
        Ok(deployment)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let hook = on::<Deployment>([Create]).failure_policy(FailurePolicy::Fail);
    let webhook = cluster.serve(App::new("turns").mutate("turn", hook, turn)).await;
    let namespace = cluster.namespace(&[]).await;

    let object = deployment("crew", &[("a", "image-a"), ("b", "image-b"), ("c", "image-c")]);
    let created = namespace.create(&object).await.object();
    let containers = &created["spec"]["template"]["spec"]["containers"];
    assert_eq!(names(containers), ["b", "c", "a"]);
    assert_eq!(containers[2]["image"], "image-a");
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(1)]));
}

/// ServiceAccount admission gives its volume a new name each time.
fn without_token(spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["volumes"] = Value::Null;
    spec["containers"][0]["volumeMounts"] = Value::Null;
    spec
}
