//! The steps of two articles about injectors.

use serde_json::{Value, json};

use super::{Cluster, names, pod};

const NGINX_KEY: &str = "sidecar-injector-webhook.morven.me/inject";

/// A pod that opts in to the sidecar of the tutorial.
pub(super) fn annotated(name: &str) -> Value {
    let mut pod = pod(name);
    pod["metadata"]["annotations"] = json!({NGINX_KEY: "true"});
    pod
}

/// The application of the article about Envoy.
pub(super) fn echo(name: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0] = json!({"name": "http-echo", "image": "hashicorp/http-echo"});
    pod
}

/// The explanation holds each of the lines, or parts of them.
#[track_caller]
pub(super) fn quotes(explanation: &str, lines: &[&str]) {
    for line in lines {
        assert!(explanation.contains(line), "`{line}` is not in\n{explanation}");
    }
}

/// The tutorial of IBM Cloud: a namespace with the label, and pods that opt in.
#[tokio::test]
async fn the_sidecar_of_nginx() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let with_nginx = |pod: &Value| names(&pod["spec"]["containers"]) == ["app", "sidecar-nginx"];

    let old = annotated("sleep");
    assert!(!with_nginx(&cluster.create(&namespace, &old).await.object()));
    let explained = |pod: &str| cluster.explain(&namespace, pod);
    quotes(
        &explained("sleep"),
        &[
            "rule nginx left out: namespace_not_matched",
            &format!("false match.namespaceSelector 14 namespace {namespace} has no label"),
        ],
    );

    cluster.label(&namespace, "sidecar-injector", "enabled").await;
    cluster.wait_until_injected(&namespace, &annotated("probe"), with_nginx).await;
    assert!(!with_nginx(&cluster.read(&namespace, &old).await), "what is there stays as it is");
    let would_be = [
        "rule nginx applied",
        &*format!("true match.namespaceSelector 14 namespace {namespace} meets `sidecar-injector=enabled`"),
        "true opt.4 11 it asks for the rule",
        "added volumes[0] 30 + spec.volumes[nginx-conf]",
        "added sidecars[0] 19 + spec.containers[sidecar-nginx]",
    ];
    quotes(&explained("sleep"), &would_be);
    cluster.delete(&namespace, &old).await;
    let made = cluster.create(&namespace, &old).await.object();
    assert!(with_nginx(&made), "{made}");
    quotes(&explained("sleep"), &["rule nginx unchanged"]);
    let nginx = &made["spec"]["containers"][1];
    assert_eq!((&nginx["image"], &nginx["ports"][0]["containerPort"]), (&json!("nginx:1.12.2"), &json!(80)));
    let mounts = nginx["volumeMounts"].as_array().unwrap();
    assert!(mounts.contains(&json!({"name": "nginx-conf", "mountPath": "/etc/nginx"})), "{mounts:?}");
    let volumes = made["spec"]["volumes"].as_array().unwrap();
    assert!(
        volumes
            .iter()
            .any(|one| one["name"] == "nginx-conf" && one["configMap"]["name"] == "nginx-configmap")
    );

    assert!(!with_nginx(&cluster.create(&namespace, &pod("silent")).await.object()));
    quotes(
        &explained("silent"),
        &["rule nginx left out: not_opted_in", "the object does not ask for the rule"],
    );
    let mut declining = annotated("declining");
    declining["metadata"]["annotations"][NGINX_KEY] = json!("false");
    let declined = cluster.create(&namespace, &declining).await;
    assert!(declined.warnings.is_empty(), "{:?}", declined.warnings);
    assert!(!with_nginx(&declined.object()));
    quotes(&explained("declining"), &["rule nginx left out: opted_out", "false opt.4"]);
    assert!(with_nginx(&cluster.create(&namespace, &annotated("asking")).await.object()));
    quotes(&explained("asking"), &["rule nginx unchanged", "true opt.4 11 it asks for the rule"]);
}

/// The article about Envoy beside hashicorp/http-echo: a namespace that opts in for all its pods.
#[tokio::test]
async fn envoy_beside_http_echo() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let with_envoy = |pod: &Value| names(&pod["spec"]["initContainers"]) == ["envoy"];

    let old = echo("http-echo");
    assert!(!with_envoy(&cluster.create(&namespace, &old).await.object()));
    let explained = |pod: &str| cluster.explain(&namespace, pod);
    let absent = format!("namespace {namespace} has no label");
    quotes(&explained("http-echo"), &["rule envoy left out: namespace_not_matched", &absent]);

    cluster.label(&namespace, "injection", "enabled").await;
    cluster.wait_until_injected(&namespace, &echo("probe"), with_envoy).await;
    assert!(!with_envoy(&cluster.read(&namespace, &old).await), "what is there stays as it is");
    quotes(&explained("http-echo"), &["rule envoy applied", "+ spec.initContainers[envoy]"]);
    cluster.delete(&namespace, &old).await;
    let made = cluster.create(&namespace, &old).await.object();
    assert!(with_envoy(&made), "{made}");
    quotes(&explained("http-echo"), &["rule envoy unchanged"]);
    assert_eq!(names(&made["spec"]["containers"]), ["http-echo"]);
    let envoy = &made["spec"]["initContainers"][0];
    assert_eq!(
        (&envoy["image"], &envoy["restartPolicy"]),
        (&json!("envoyproxy/envoy:v1.20.3"), &json!("Always"))
    );
}
