//! The API server calls a hook a second time when others changed the object after it.

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, on};
use vestibule_admission::Decision;
use vestibule_injector::compile;
use vestibule_testenv::{Answer, Recorder, leave_out};

use crate::cluster::Cluster;
use crate::samples::{helloworld, names, pod};
use crate::versions::minor;

pub(crate) fn with_sidecar() -> App {
    async fn sidecar(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
        let containers = &mut pod.spec.get_or_insert_default().containers;
        if !containers.iter().any(|container| container.name == "sidecar") {
            let image = Some("sidecar:1".to_owned());
            containers.push(Container { name: "sidecar".to_owned(), image, ..Container::default() });
        }
        Ok(pod)
    }
    App::new("sidecars").mutate("sidecar", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), sidecar)
}

#[tokio::test]
async fn the_token_that_service_account_admission_mounts_into_our_sidecar_stays() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(with_sidecar()).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&pod("web", &[("app", "app:1")])).await.object();
    let containers = &created["spec"]["containers"];
    assert_eq!(names(containers), ["app", "sidecar"]);
    // Without a second call the token of the sidecar would not have been seen.
    for container in containers.as_array().unwrap() {
        assert_eq!(
            container["volumeMounts"][0]["mountPath"],
            "/var/run/secrets/kubernetes.io/serviceaccount"
        );
    }
    let made = webhook.decisions.made();
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1), Decision::Allowed]);
    assert_ne!(made[0].uid, made[1].uid, "each call has a uid of its own");
}

#[tokio::test]
async fn without_a_later_change_there_is_one_call() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(with_sidecar()).await;
    let namespace = cluster.namespace(&[]).await;

    let mut object = pod("web", &[("app", "app:1")]);
    object["spec"]["automountServiceAccountToken"] = json!(false);
    namespace.create(&object).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
}

#[tokio::test]
async fn a_second_webhook_after_ours_causes_a_second_call_without_a_patch() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(env_injector::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let service = cluster.environment.service(cluster.home.name(), "second").await.unwrap();
    let second = Recorder::start(&[&service.host()], |seen| {
        let annotations = &seen.review()["request"]["object"]["metadata"]["annotations"];
        if annotations.is_null() {
            Answer::Patch(
                json!([{ "op": "add", "path": "/metadata/annotations", "value": { "second": "here" } }]),
            )
        } else {
            Answer::Allow
        }
    });
    let second = second.unwrap();
    service.add_replica(second.address(), None).unwrap();
    let name = format!("{}-z-after-ours", cluster.home.name());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "second.cluster.test",
            "clientConfig": { "service": service.reference("/"), "caBundle": second.ca_bundle() },
            "rules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["CREATE"],
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace.name() } },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let _installed = cluster.environment.install([configuration]).await.unwrap();

    let created = namespace.create(&helloworld()).await.object();
    assert_eq!(created["metadata"]["annotations"]["second"], "here");
    assert_eq!(created["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap().len(), 1);
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1), Decision::Allowed]);
    let seen = second.recorded()[0].review();
    let theirs = &seen["request"]["object"]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(theirs["env"][0]["name"], "TARGET", "the second webhook sees what the first made");
}

/// The API server appends its own tolerations before it calls webhooks, and with a RuntimeClass it removes those that others cover.
#[tokio::test]
async fn a_toleration_of_the_api_server_gets_the_seconds_of_a_rule() {
    const RULE: &str = "apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: seconds}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  optIn: always
  onConflict: override
  pod:
    spec:
      tolerations:
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 30}
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}
";
    let Some(cluster) = Cluster::shared().await else { return };
    let rules = compile([("seconds.yaml", RULE)]).ok().unwrap();
    let webhook = cluster.serve_rules(rules).await;
    let namespace = cluster.namespace(&[]).await;
    let class: RuntimeClass = serde_json::from_value(json!({
        "metadata": { "name": namespace.name() },
        "handler": "sandbox",
        "scheduling": { "tolerations": [{ "key": "sandbox", "operator": "Exists" }] },
    }))
    .unwrap();
    Api::all(cluster.client()).create(&PostParams::default(), &class).await.unwrap();

    for (name, class) in [("plain", None), ("sandboxed", Some(namespace.name()))] {
        let mut object = pod(name, &[("app", "app:1")]);
        object["metadata"]["labels"] = json!({ "app": "web" });
        object["spec"]["runtimeClassName"] = json!(class);
        let created = namespace.create(&object).await.object();
        let mut tolerations = created["spec"]["tolerations"].as_array().unwrap().clone();
        tolerations.retain(|one| one["key"] != "sandbox");
        let of = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute" });
        let mut not_ready = of("node.kubernetes.io/not-ready");
        not_ready["tolerationSeconds"] = json!(30);
        assert_eq!(tolerations, [not_ready, of("node.kubernetes.io/unreachable")], "{name}");
        let decisions = webhook.decisions.take();
        assert!(matches!(decisions[0], Decision::Mutated(_)), "{name}");
        assert!(decisions[1..].iter().all(|decision| *decision == Decision::Allowed), "{name}");
    }
}

/// The API server writes requests of a pod that has limits of its own before it calls webhooks, from those of its containers.
#[tokio::test]
async fn a_derived_request_of_a_pod_grows_by_that_of_a_sidecar() {
    const RULE: &str = "apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: sidecar}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  optIn: always
  sidecars: [{name: sidecar, image: 'sidecar:1', resources: {requests: {cpu: 10m}}}]
";
    let Some(cluster) = Cluster::shared().await else { return };
    let minor = minor(&cluster).await;
    if minor < 34 {
        return leave_out(&format!("kube-apiserver 1.{minor} has no resources of pods by default"));
    }
    let rules = compile([("sidecar.yaml", RULE)]).ok().unwrap();
    let webhook = cluster.serve_rules(rules).await;
    let mut object = pod("web", &[("app", "app:1")]);
    object["metadata"]["labels"] = json!({ "app": "web" });
    object["spec"]["resources"] = json!({ "limits": { "cpu": "1" } });
    object["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "100m" } });

    let created = cluster.namespace(&[]).await.create(&object).await.object();
    let resources = json!({ "limits": { "cpu": "1" }, "requests": { "cpu": "110m" } });
    assert_eq!(created["spec"]["resources"], resources);
    let decisions = webhook.decisions.take();
    assert!(matches!(decisions[..], [Decision::Mutated(_), Decision::Allowed]), "{decisions:?}");
}
