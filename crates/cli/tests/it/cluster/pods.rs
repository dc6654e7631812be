//! Pods by themselves, of Deployments and of Jobs, and pods that are left alone.

use serde_json::{Value, json};

use super::{Cluster, names, pod};
use crate::examples;
use crate::fixture::Folder;

const ALL: [(&str, &str); 6] = [
    ("agent", "required"),
    ("injection", "enabled"),
    ("inject.vestibule.dev/image-pull-secrets", "true"),
    ("inject.vestibule.dev/log-forwarder", "true"),
    ("inject.vestibule.dev/timezone-and-ca", "true"),
    ("sidecar-injector", "enabled"),
];

#[tokio::test]
async fn all_eight_examples_at_once() {
    let Some(cluster) = Cluster::shared().await else { return };
    let labels = [&ALL[..], &[("mesh", "enabled")]].concat();
    let namespace = cluster.namespace(&labels).await;
    let mut hello = pod("hello");
    hello["metadata"]["labels"] = json!({"app": "helloworld-go", "inject.vestibule.dev/nginx": "true"});

    let reply = cluster.create(&namespace, &hello).await;
    assert_eq!(reply.warnings, Vec::<String>::new());
    let made = reply.object();
    // Rules apply in their order, although required rules have an entry of their own.
    let init = ["agent", "envoy", "log-forwarder", "proxy-init", "proxy"];
    assert_eq!(names(&made["spec"]["initContainers"]), init);
    assert_eq!(names(&made["spec"]["containers"]), ["app", "sidecar-nginx"]);
    // The rest equals the output of `inject` for the same pod.
    let folder = Folder::with(&[("pod.json", &hello.to_string())]);
    let (rules, labels) = (
        examples::rules(),
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(","),
    );
    let said = folder.run(&format!(
        "inject -f pod.json -n {namespace} -o json --rules {} --namespace-labels {labels}",
        rules.display()
    ));
    let said = said.exits(0).json();
    assert_eq!(names(&said["spec"]["initContainers"]), init);
    assert_within(&said, &made, "");
}

/// A pod that is made from a stored one, with the API server's defaults, has the same probes and the same variable.
#[tokio::test]
async fn probes_are_rewritten_once() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("mesh", "strict")]).await;
    let mut web = pod("web");
    web["spec"]["containers"][0]["ports"] = json!([{"name": "http", "containerPort": 8080}]);
    web["spec"]["containers"][0]["livenessProbe"] = json!({"httpGet": {"path": "/live", "port": "http"}});
    web["spec"]["containers"][0]["readinessProbe"] = json!({"grpc": {"port": 9000}});
    let reply = cluster.create(&namespace, &web).await;
    assert_eq!(reply.warnings, Vec::<String>::new());
    let made = reply.object();
    let app = &made["spec"]["containers"][0];
    assert_eq!(
        app["livenessProbe"]["httpGet"],
        json!({"path": "/app-health/app/livez", "port": 15020, "scheme": "HTTP"})
    );
    assert_eq!(app["readinessProbe"]["httpGet"]["path"], "/app-health/app/readyz");
    assert!(app["readinessProbe"]["grpc"].is_null());
    let probers = made["spec"]["initContainers"][0]["env"][0]["value"].as_str().unwrap();
    let probers: Value = serde_json::from_str(probers).unwrap();
    assert_eq!(probers["/app-health/app/livez"]["httpGet"]["port"], 8080);
    assert_eq!(probers["/app-health/app/readyz"]["grpc"]["port"], 9000);

    let annotations = made["metadata"]["annotations"].clone();
    let again = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "again", "annotations": annotations}, "spec": made["spec"],
    });
    let again = cluster.create(&namespace, &again).await;
    assert_eq!(again.warnings, Vec::<String>::new());
    let again = again.object();
    assert_eq!(again["spec"], made["spec"]);
    assert_eq!(again["metadata"]["annotations"], annotations);
}

/// Checks that `said` is part of `stored`, with items in their order; the API server adds items.
#[track_caller]
fn assert_within(said: &Value, stored: &Value, place: &str) {
    match (said, stored) {
        (Value::Object(said), Value::Object(_)) => {
            for (name, said) in said {
                assert_within(said, &stored[name], &format!("{place}/{name}"));
            }
        }
        (Value::Array(said), Value::Array(stored)) if said.iter().all(Value::is_object) => {
            let mut stored = stored.iter();
            for said in said {
                let is_it = |it: &&Value| ["name", "mountPath"].iter().all(|key| it[key] == said[key]);
                let it = stored.find(is_it).unwrap_or_else(|| panic!("no {said} at {place}"));
                assert_within(said, it, &format!("{place}/{}", said["name"]));
            }
        }
        _ => assert_eq!(said, stored, "{place}"),
    }
}

#[tokio::test]
async fn a_deployment_makes_a_replica_set_and_that_pods_with_a_sidecar() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": pod("unused")["spec"]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    });
    let made = cluster.create(&namespace, &deployment).await.object();
    assert!(made["spec"]["template"]["spec"]["initContainers"].is_null(), "pods are changed, no template");

    for pod in cluster.pods_made(&namespace, 2).await {
        assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
        assert_eq!(names(&pod["spec"]["initContainers"]), ["envoy"]);
        assert_eq!(pod["spec"]["initContainers"][0]["restartPolicy"], "Always");
    }
}

#[tokio::test]
async fn a_job_makes_a_pod_with_a_sidecar_that_lets_it_end() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let mut template = json!({"spec": pod("unused")["spec"]});
    template["spec"]["restartPolicy"] = json!("Never");
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}});
    cluster.create(&namespace, &job).await.object();

    let pods = cluster.pods_made(&namespace, 1).await;
    assert_eq!(pods[0]["metadata"]["ownerReferences"][0]["kind"], "Job");
    assert_eq!(names(&pods[0]["spec"]["containers"]), ["app"]);
    assert_eq!(names(&pods[0]["spec"]["initContainers"]), ["envoy"]);
    assert_eq!(pods[0]["spec"]["initContainers"][0]["restartPolicy"], "Always");
}

#[tokio::test]
async fn bare_pods_and_pods_with_generated_names() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let mut unnamed = pod("unused");
    unnamed["metadata"] = json!({"generateName": "web-"});
    for object in [pod("web"), unnamed] {
        let made = cluster.create(&namespace, &object).await.object();
        assert_eq!(names(&made["spec"]["initContainers"]), ["envoy"], "{}", made["metadata"]["name"]);
    }
}

#[tokio::test]
async fn pods_of_system_namespaces_and_mirror_pods_are_left_alone() {
    let Some(cluster) = Cluster::shared().await else { return };
    // The admission of pods needs the ServiceAccount.
    drop(cluster.injector.environment.service_account("kube-system", "default").await.unwrap());
    for (key, value) in ALL {
        cluster.label("kube-system", key, value).await;
    }
    let made = cluster.create("kube-system", &pod("web")).await.object();
    assert_bare(&made);

    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let mut mirror = pod("static-node-1");
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "0123"});
    mirror["spec"]["nodeName"] = json!("node-1");
    mirror["spec"]["automountServiceAccountToken"] = json!(false);
    assert_bare(&cluster.create(&namespace, &mirror).await.object());
}

#[tokio::test]
async fn a_required_agent_that_cannot_be_had_refuses_the_pod() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("agent", "required")]).await;
    let mut clash = pod("web");
    clash["spec"]["containers"][0]["name"] = json!("agent");
    let reply = cluster.create(&namespace, &clash).await;
    let message = reply.body["message"].as_str().unwrap();
    assert_eq!(reply.status, 403);
    assert!(
        message.contains("rule agent") && message.contains("container `agent` exists already"),
        "{message}"
    );
}

/// The author of a pod sees a terminal and no log.
#[tokio::test]
async fn an_invalid_opt_in_value_makes_a_warning_in_the_terminal() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("sidecar-injector", "enabled")]).await;
    let asking = |key: &str, value: &str| {
        let mut pod = pod("web");
        pod["metadata"]["annotations"] = json!({format!("inject.vestibule.dev/{key}"): value});
        pod
    };
    let is_injected = |made: &Value| names(&made["spec"]["containers"]).contains(&"sidecar-nginx");
    cluster.wait_until_injected(&namespace, &asking("nginx", "true"), is_injected).await;

    let mut conflicting = asking("nginx", "true");
    conflicting["spec"]["volumes"] = json!([{"name": "nginx-conf", "emptyDir": {}}]);
    for (asks, said) in [
        (asking("ngnix", "true"), "did you mean inject.vestibule.dev/nginx?"),
        (asking("nginx", "perhaps"), "has a value that rule `nginx` does not read"),
        (conflicting, "volume `nginx-conf`"),
    ] {
        let reply = cluster.create_dry_run(&namespace, &asks).await;
        let [warning] = &reply.warnings[..] else { panic!("{said}: {:?}", reply.warnings) };
        assert!(warning.starts_with("299 - ") && warning.contains(said), "{said}: {warning}");
        assert_bare(&reply.object());
    }
}

/// For a pod with all parts the answer has neither a patch nor a patch type. The API server refuses a type without a patch.
#[tokio::test]
async fn a_pod_that_has_it_all_passes_as_it_is() {
    let Some(cluster) = Cluster::shared().await else { return };
    // A required rule fails closed: an invalid answer would refuse the pod.
    let namespace = cluster.namespace(&[("agent", "required")]).await;
    let mut hello = pod("hello");
    hello["metadata"]["labels"] = json!({"app": "helloworld-go"});
    let has_agent = |made: &Value| names(&made["spec"]["initContainers"]).contains(&"agent");
    cluster.wait_until_injected(&namespace, &hello, has_agent).await;
    let made = cluster.create_dry_run(&namespace, &hello).await.object();
    assert_eq!(names(&made["spec"]["containers"][0]["env"]), ["TARGET"]);
    let again = json!({"apiVersion": "v1", "kind": "Pod", "spec": made["spec"], "metadata": {
        "name": "hello", "labels": made["metadata"]["labels"], "annotations": made["metadata"]["annotations"],
    }});
    let reply = cluster.create_dry_run(&namespace, &again).await;
    assert_eq!(reply.warnings, Vec::<String>::new());
    assert_eq!(reply.object()["spec"], made["spec"]);
}

#[tokio::test]
async fn rules_that_are_no_text_are_refused_where_they_are_applied() {
    let Some(cluster) = Cluster::shared().await else { return };
    let home = cluster.injector.service.host().split('.').nth(1).unwrap().to_owned();
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "binary", "labels": {"vestibule.dev/config": "true"}},
        "binaryData": {"rules.yaml": "/w=="},
    });
    let reply = cluster.create_dry_run(&home, &config_map).await;
    let message = reply.body["message"].as_str().unwrap();
    assert_eq!(reply.status, 403, "{message}");
    assert!(message.contains("ConfigMap") && message.contains("it is no text"), "{message}");
    assert_eq!(reply.body["details"]["causes"][0]["field"], "binaryData[rules.yaml]");
}

fn assert_bare(pod: &Value) {
    assert!(pod["spec"]["initContainers"].is_null() && pod["spec"]["imagePullSecrets"].is_null(), "{pod}");
    assert_eq!(names(&pod["spec"]["containers"]), ["app"]);
}
