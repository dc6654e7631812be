//! The injector with the shipped example rules.

use std::path::Path;

use serde_json::{Value, json};
use vestibule_admission::Decision;
use vestibule_injector::{Namespaces, app, compile, load};

use crate::cluster::{Cluster, Namespace};
use crate::samples::{deployment, helloworld, names, pod};
use crate::webhook::Webhook;

const NGINX_KEY: &str = "sidecar-injector-webhook.morven.me/inject";

/// The injector with a rule of `examples/rules`, which watches the namespaces of the API server.
async fn inject(cluster: &Cluster, rule: &str) -> Webhook {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rules").join(rule);
    let rules = load(&path).unwrap();
    cluster.serve_rules(rules).await
}

fn helloworld_pod(containers: &[(&str, &str)]) -> Value {
    let mut pod = pod("hello", containers);
    pod["metadata"]["labels"] = json!({ "app": "helloworld-go" });
    pod
}

fn target() -> Value {
    json!({ "name": "TARGET", "value": "Sample Injector v1" })
}

#[tokio::test]
async fn env_target_on_a_pod() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "env-target.yaml").await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&helloworld_pod(&[("app", "hello:1")])).await.object();
    assert_eq!(created["spec"]["containers"][0]["env"], json!([target()]));
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(_), ..]));
}

#[tokio::test]
async fn env_target_in_two_containers_of_a_pod() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "env-target.yaml").await;
    let namespace = cluster.namespace(&[]).await;

    let two = helloworld_pod(&[("hello", "hello:1"), ("world", "world:1")]);
    let created = namespace.create(&two).await.object();
    for container in created["spec"]["containers"].as_array().unwrap() {
        assert_eq!(container["env"], json!([target()]));
    }
}

#[tokio::test]
async fn env_target_replaces_an_existing_target_at_its_position() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "env-target.yaml").await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = helloworld_pod(&[("app", "hello:1")]);
    let others = [json!({ "name": "FIRST", "value": "1" }), json!({ "name": "LAST", "value": "$(TARGET)" })];
    let theirs = json!({ "name": "TARGET", "value": "theirs" });
    object["spec"]["containers"][0]["env"] = json!([others[0], theirs, others[1]]);
    let created = namespace.create(&object).await.object();
    assert_eq!(created["spec"]["containers"][0]["env"], json!([others[0], target(), others[1]]));
    assert_eq!(webhook.decisions.take().len(), 1, "no container is new, so there is no second call");
}

#[tokio::test]
async fn env_target_does_not_change_other_pods() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "env-target.yaml").await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&pod("other", &[("app", "other:1")])).await.object();
    assert!(created["spec"]["containers"][0].get("env").is_none());
    assert!(webhook.decisions.take().iter().all(|decision| *decision == Decision::Allowed));
}

/// A shipped rule with the variation that its comment describes.
async fn inject_changed(
    cluster: &Cluster,
    shipped: &str,
    (form, other): (&str, &str),
    namespaces: Namespaces,
) -> Webhook {
    let text = shipped.replace(form, other);
    assert_ne!(text, shipped);
    let rules = compile([("changed.yaml", text.as_str())]).ok().unwrap();
    cluster.serve(app(rules, namespaces).unwrap()).await
}

async fn inject_into_deployments(cluster: &Cluster) -> Webhook {
    let shipped = include_str!("../../../../examples/rules/env-target.yaml");
    let change = ("targets: [pods]", "targets: [deployments]");
    inject_changed(cluster, shipped, change, Namespaces::unknown()).await
}

#[tokio::test]
async fn env_target_on_a_deployment() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject_into_deployments(&cluster).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&helloworld()).await.object();
    assert_eq!(created["spec"]["template"]["spec"]["containers"][0]["env"], json!([target()]));
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(_)]));
}

#[tokio::test]
async fn env_target_on_a_deployment_that_is_updated() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject_into_deployments(&cluster).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&helloworld()).await.object();
    webhook.decisions.take();
    let replaced = namespace.replace(&created).await.object();
    assert_eq!(replaced["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(
        webhook.decisions.take(),
        [Decision::Allowed],
        "an update that changes nothing sends no patch"
    );
    let mut emptied = created.clone();
    emptied["spec"]["template"]["spec"]["containers"][0]["env"] = json!([]);
    let refilled = namespace.replace(&emptied).await.object();
    assert_eq!(refilled["spec"]["template"]["spec"]["containers"][0]["env"], json!([target()]));
}

#[tokio::test]
async fn env_target_on_a_deployment_does_not_change_others() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject_into_deployments(&cluster).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&deployment("other", &[("app", "other:1")])).await.object();
    assert!(created["spec"]["template"]["spec"]["containers"][0].get("env").is_none());
}

fn annotated(value: &str) -> Value {
    let mut pod = pod("sleep", &[("sleep", "tutum/curl")]);
    pod["metadata"]["annotations"] = json!({ NGINX_KEY: value });
    pod
}

#[tokio::test]
async fn nginx_is_injected_with_its_volume_if_namespace_and_pod_request_it() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "nginx.yaml").await;
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;

    let created = namespace.create(&annotated("true")).await.object();
    assert_eq!(names(&created["spec"]["containers"]), ["sleep", "sidecar-nginx"]);
    let nginx = &created["spec"]["containers"][1];
    assert_eq!((&nginx["image"], &nginx["ports"][0]["containerPort"]), (&json!("nginx:1.12.2"), &json!(80)));
    let mounts = nginx["volumeMounts"].as_array().unwrap();
    assert!(mounts.contains(&json!({ "name": "nginx-conf", "mountPath": "/etc/nginx" })));
    let volumes = created["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "nginx-conf").unwrap();
    assert_eq!(volume["configMap"]["name"], "nginx-configmap");
    // ServiceAccount admission mounts its token into our sidecar, so the hook is called again.
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(_), Decision::Allowed]));
}

#[tokio::test]
async fn nginx_is_not_injected_in_other_namespaces() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "nginx.yaml").await;
    let namespace = cluster.namespace(&[]).await;
    assert_untouched(&namespace, &annotated("true")).await;
}

#[tokio::test]
async fn nginx_is_not_injected_into_other_pods() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "nginx.yaml").await;
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;
    assert_untouched(&namespace, &pod("sleep", &[("sleep", "tutum/curl")])).await;
}

#[tokio::test]
async fn nginx_is_not_injected_and_no_warning_is_sent_if_the_annotation_is_no() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "nginx.yaml").await;
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;
    assert_untouched(&namespace, &annotated("false")).await;
    assert_eq!(webhook.decisions.take(), [], "the API server knows that it declined");
}

#[tokio::test]
async fn a_namespace_that_is_labelled_later_is_injected() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "nginx.yaml").await;
    let namespace = cluster.namespace(&[]).await;
    assert_untouched(&namespace, &annotated("true")).await;

    namespace.label("sidecar-injector", "enabled").await;
    let mut another = annotated("true");
    another["metadata"]["name"] = json!("another");
    // The injector learns of it by a watch, some milliseconds later.
    for attempt in 0.. {
        let tried = namespace.create_dry_run(&another).await.object();
        if names(&tried["spec"]["containers"]) == ["sleep", "sidecar-nginx"] {
            break;
        }
        assert!(attempt < 1000, "the label was never heard of");
    }
}

#[tokio::test]
async fn envoy_is_injected_beside_http_echo_only() {
    let Some(cluster) = Cluster::shared().await else { return };
    let shipped = include_str!("../../../../examples/rules/envoy.yaml");
    let namespaces = Namespaces::watched(cluster.client());
    let native = "mode: auto
      # Before all other init containers, so that they have the proxy too.
      position: {initContainers: first}";
    let _webhook = inject_changed(&cluster, shipped, (native, "mode: regular"), namespaces).await;
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;

    let created = namespace.create(&pod("http-echo", &[("http-echo", "hashicorp/http-echo")])).await.object();
    assert_eq!(names(&created["spec"]["containers"]), ["http-echo", "envoy"]);
    assert_eq!(created["spec"]["containers"][1]["image"], "envoyproxy/envoy:v1.20.3");
    assert!(created["spec"].get("initContainers").is_none());
}

#[tokio::test]
async fn envoy_in_its_native_form_is_an_init_container_that_stays() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = inject(&cluster, "envoy.yaml").await;
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;

    let mut object = pod("http-echo", &[("http-echo", "hashicorp/http-echo")]);
    object["spec"]["initContainers"] = json!([{ "name": "prepare", "image": "prepare:1" }]);
    let created = namespace.create(&object).await.object();
    assert_eq!(names(&created["spec"]["containers"]), ["http-echo"]);
    assert_eq!(names(&created["spec"]["initContainers"]), ["envoy", "prepare"]);
    let envoy = &created["spec"]["initContainers"][0];
    assert_eq!(
        (&envoy["restartPolicy"], &envoy["image"]),
        (&json!("Always"), &json!("envoyproxy/envoy:v1.20.3"))
    );
    assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(_), Decision::Allowed]));
}

#[tokio::test]
async fn envoy_is_not_injected_in_other_namespaces() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "envoy.yaml").await;
    let namespace = cluster.namespace(&[("injection", "disabled")]).await;
    assert_untouched(&namespace, &pod("http-echo", &[("http-echo", "hashicorp/http-echo")])).await;
}

#[tokio::test]
async fn a_pod_with_a_generated_name_is_injected_too() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = inject(&cluster, "envoy.yaml").await;
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;

    let mut object = pod("unused", &[("app", "app:1")]);
    object["metadata"] = json!({ "generateName": "web-7d9f-" });
    let created = namespace.create(&object).await.object();
    assert_eq!(names(&created["spec"]["initContainers"]), ["envoy"]);
}

async fn assert_untouched(namespace: &Namespace, object: &Value) {
    let reply = namespace.create(object).await;
    let created = reply.object();
    assert_eq!(names(&created["spec"]["containers"]), names(&object["spec"]["containers"]));
    assert_eq!(created["metadata"]["annotations"], object["metadata"]["annotations"]);
    let volumes = created["spec"]["volumes"].as_array().unwrap();
    assert_eq!(volumes.len(), 1, "only the ServiceAccount's token");
    assert_eq!(reply.warnings, Vec::<String>::new());
}

/// The value of a parameter is never interpreted as YAML or as an expression.
#[tokio::test]
async fn a18_a_parameter_is_stored_as_it_is_or_not_at_all() {
    let Some(cluster) = Cluster::shared().await else { return };
    let rule = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: told}\nspec:\n  optIn: always\n  match: {objectSelector: {matchLabels: {app: told}}}\n  parameters: [{name: any, type: string, annotation: example.com/any}]\n  containerPatches: [{select: {all: true}, env: [{name: A, value: {$cel: params.any}}]}]\n";
    let rules = compile([("told.yaml", rule)]).ok().unwrap();
    let _webhook = cluster.serve(app(rules, Namespaces::unknown()).unwrap()).await;
    let namespace = cluster.namespace(&[]).await;
    let create = async |number: usize, value: &str| {
        let mut object = pod(&format!("told-{number}"), &[("app", "told:1")]);
        object["metadata"]["labels"] = json!({ "app": "told" });
        object["metadata"]["annotations"] = json!({ "example.com/any": value });
        let reply = namespace.create(&object).await;
        (reply.object()["spec"]["containers"].clone(), reply.warnings)
    };
    let values = [
        "a: [b}, # c",
        r#"x"}],"hostNetwork":true,"y":[{"z":"#,
        "- {name: B, value: b}",
        "{{ .Values.x }}${x}%s",
        "../../etc/passwd",
        "/spec/~01",
        "null",
    ];
    for (number, value) in values.into_iter().enumerate() {
        let (containers, warnings) = create(number, value).await;
        assert_eq!(containers[0]["env"], json!([{ "name": "A", "value": value }]));
        assert_eq!((containers.as_array().unwrap().len(), warnings), (1, Vec::new()), "{value}");
    }
    for (number, value) in ["c4nary\nhostNetwork: true", "c4nary $(PATH)"].into_iter().enumerate() {
        let (containers, warnings) = create(values.len() + number, value).await;
        assert!(containers[0].get("env").is_none(), "{value}");
        assert!(warnings.concat().contains("`example.com/any`") && !warnings.concat().contains("c4nary"));
    }
}
