//! Rules that are objects, with an injector: the commands of docs/how-to/rules-as-objects.md.

use vestibule_testenv::Options;

use super::{Cluster, kubectl};
use crate::examples;
use crate::fixture::Folder;
use crate::wait;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {sidecar-injector-webhook.morven.me/inject: \"true\"}}
spec: {containers: [{name: app, image: app}]}
";

/// `kubectl apply`, `get`, `wait` and a pod: the way of the README.
#[tokio::test]
async fn a_rule_is_in_force_when_kubectl_wait_returns() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    let _server = cluster.replica("first").await;
    let (environment, tools) = (&cluster.environment, &cluster.tools);

    let nginx = examples::rules().join("nginx.yaml");
    let text = std::fs::read_to_string(&nginx).unwrap();
    let folder = Folder::with(&[
        ("nginx.yaml", &text),
        ("pod.yaml", POD),
        ("bad.yaml", &text.replace("mountPath: /etc/nginx", "mountPath: etc/nginx, mounthPath: a")),
    ]);
    let run = |script: &str| kubectl(environment, tools, &folder, script);
    run("kubectl create namespace shop && kubectl label namespace shop sidecar-injector=enabled").exits(0);
    run("kubectl create serviceaccount default -n shop");
    run("kubectl apply -f nginx.yaml && kubectl wait --for=condition=InForce injection/nginx --timeout=60s && kubectl apply -n shop -f pod.yaml")
        .exits(0);
    run("kubectl get pod web -n shop -o jsonpath='{.spec.containers[*].name}'").prints("app sidecar-nginx");
    run("kubectl get injection nginx -o jsonpath='{.status.conditions[?(@.type==\"InForce\")].message}'")
        .prints("on 1 of 1 replicas");

    // The injector's own checks, with the field and the code.
    let refused = run("kubectl apply -f bad.yaml");
    refused.fails(1, "error[VST0110]: `volumeMounts` is not known to have a field `mounthPath`");
    refused.tells("--> Injection nginx, spec.sidecars[0].volumeMounts[0].mounthPath: a");
    refused.tells("those in force stay in force");

    // The same rule in a ConfigMap.
    let home = &cluster.home;
    let doubled = run(&format!(
        "kubectl create configmap rules -n {home} --from-file nginx.yaml --dry-run=client -o yaml \
         | kubectl label --local -f - vestibule.dev/config=true -o yaml | kubectl apply -f -"
    ));
    doubled.fails(1, "error[VST0116]: rule `nginx` exists already, at Injection nginx");

    // Counts follow.
    let injected = async || run("kubectl get vinj nginx -o jsonpath='{.status.counts.injected}'").out;
    let counted = wait::until(injected, |count| count == "1").await;
    counted.unwrap_or_else(|_| panic!("{}", run("kubectl get vinj nginx -o yaml").out));
    // `explain` reads the rules that are in force from the objects of the cluster.
    let explain =
        folder.run(&format!("explain pod/web -n shop --kubeconfig {}", environment.kubeconfig().display()));
    explain.exits(0).shows("Injection nginx\n");
    let labels = "--namespace-labels sidecar-injector=enabled";
    let file = folder.run(&format!(
        "explain -f pod.yaml --from-cluster {labels} --kubeconfig {}",
        environment.kubeconfig().display()
    ));
    file.exits(0).shows("rule nginx  applied").shows("Injection nginx\n");

    // A deleted rule is gone.
    run("kubectl delete injection nginx && kubectl delete pod web -n shop --now").exits(0);
    let names = "kubectl apply -n shop -f pod.yaml --dry-run=server -o jsonpath='{.spec.containers[*].name}'";
    wait::until(async || run(names), |done| done.out == "app").await.unwrap();
}
