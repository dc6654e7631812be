//! The status of objects: findings, replicas, settings.

use std::collections::BTreeSet;

use vestibule_testenv::Options;

use super::{Cluster, LABEL};
use crate::cluster::replica_of;
use crate::fixture::Folder;
use crate::wait;

const IN_FORCE: &str = "{.status.conditions[?(@.type==\"InForce\")].message}";
const ACCEPTED: &str = "{.status.conditions[?(@.type==\"Accepted\")].message}";

/// A rule that only the injector would refuse.
fn broken() -> String {
    LABEL.replace("{labels: {team: blue}}", "{spec: {priorityClassNam: high}}")
}

#[tokio::test]
async fn a_rule_that_was_stored_while_the_injector_was_down_shows_its_errors() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    // The API server checks the format alone.
    cluster.kubectl(&broken(), "kubectl apply -f rule.yaml").exits(0);
    cluster.kubectl(LABEL, "kubectl apply --dry-run=server -f rule.yaml").exits(0);
    // Without any good rules a replica does not become ready, and yet reports what is wrong.
    let server = cluster.unready_replica("first").await;
    let error = cluster.until(ACCEPTED, |found| found.contains("VST")).await;
    assert!(
        error.starts_with("Injection label, spec.pod.spec.priorityClassNam: error[VST0110]: "),
        "{error}"
    );
    cluster.until(IN_FORCE, |found| found == "it has errors, and no earlier version was good").await;
    // An object with stored errors may be changed otherwise.
    cluster.kubectl("", "kubectl label injection label team=blue").exits(0);

    cluster.kubectl(LABEL, "kubectl apply -f rule.yaml").exits(0);
    cluster.until(IN_FORCE, |found| found == "on 1 of 1 replicas").await;
    let observed = cluster.until("{.status.observedGeneration}", |found| !found.is_empty()).await;
    assert_eq!(observed, cluster.until("{.metadata.generation}", |_| true).await);

    server.terminate().unwrap();
    let _server = cluster.replica("second").await;
    let off = "{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: injector}, spec: {mode: \"off\"}}";
    let wait = "kubectl apply -f rule.yaml && kubectl wait --for=condition=InForce injectorsettings/injector --timeout=60s";
    cluster.kubectl(off, wait).exits(0);
    cluster
        .until(IN_FORCE, |found| found.ends_with("; InjectorSettings say that no rule changes anything"))
        .await;
}

#[tokio::test]
async fn a_rule_is_in_force_when_every_replica_that_reports_has_it() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    let _first = cluster.replica("first").await;
    // The API server does not call this one, so that it need not wait for it while it is paused.
    let second = cluster.unready_replica("second").await;
    cluster.kubectl(LABEL, "kubectl apply -f rule.yaml").exits(0);
    cluster.until(IN_FORCE, |found| found == "on 2 of 2 replicas").await;

    // A replica that hears nothing has the former rules in force.
    second.pause().unwrap();
    let next = LABEL.replace("team: blue", "team: green");
    cluster.kubectl(&next, "kubectl apply --request-timeout=60s -f rule.yaml").exits(0);
    cluster.until(IN_FORCE, |found| found == "on 1 of 2 replicas").await;
    // It counts no longer once its Lease is over.
    cluster.until(IN_FORCE, |found| found == "on 1 of 1 replicas").await;
    second.resume().unwrap();
    cluster.until(IN_FORCE, |found| found == "on 2 of 2 replicas").await;
    let leases = cluster.kubectl("", &format!("kubectl get leases -n {} -o name", cluster.home)).stdout();
    assert_eq!(
        leases,
        "lease.coordination.k8s.io/injector-first\nlease.coordination.k8s.io/injector-second\n"
    );
}

/// Regression: two injectors read all Injections, and each wrote its own view into their status.
#[tokio::test]
async fn one_of_two_injectors_writes_the_status() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    // The last namespace by name. Its injector has the rule in a ConfigMap, so the object is wrong for it.
    let (other, environment) = ("zz-other", &cluster.environment);
    let first = cluster.replica("first").await;
    cluster.kubectl(LABEL, "kubectl apply -f rule.yaml").exits(0);
    cluster.until(IN_FORCE, |found| found == "on 1 of 1 replicas").await;
    let config_map = format!(
        "kubectl create namespace {other} && kubectl create configmap rules -n {other} --from-file rule.yaml \
         && kubectl label configmap rules -n {other} vestibule.dev/config=true"
    );
    cluster.kubectl(LABEL, &config_map).exits(0);
    let printed = Folder::with(&[]).run(&format!(
        "manifests --name other --service {other}/other -n {other} --image registry.invalid/injector:test"
    ));
    let manifests = printed.objects();
    environment.apply(manifests.clone()).await.unwrap();
    let version = cluster.until("{.metadata.resourceVersion}", |_| true).await;
    let mut command = replica_of("other", environment, other, &manifests).await;
    command.env("POD_NAME", "second");
    let _second = environment.spawn("other", &command).unwrap();

    // The second injector looks at the objects at least as often as it renews its Lease.
    let renewed = format!("kubectl get lease injector-second -n {other} -o jsonpath='{{.spec.renewTime}}'");
    let mut renewals = BTreeSet::new();
    let count = async || {
        // Before the first report there is no Lease.
        let done = cluster.kubectl("", &renewed);
        renewals.extend((done.code() == 0 && !done.out.is_empty()).then_some(done.out));
        renewals.len()
    };
    wait::until(count, |count| *count >= 3).await.unwrap();
    assert_eq!(cluster.until("{.metadata.resourceVersion}", |_| true).await, version);
    assert_eq!(cluster.until("{.status.injector}", |_| true).await, cluster.home);
    cluster.until(IN_FORCE, |found| found == "on 1 of 1 replicas").await;

    // Without the first injector the second one writes.
    first.terminate().unwrap();
    cluster.until("{.status.injector}", |found| found == other).await;
    cluster.until(IN_FORCE, |found| found.starts_with("it has errors")).await;
}

/// A later version of a definition: objects that are stored stay, also those with a field that it does not have.
#[tokio::test]
async fn a_new_definition_keeps_stored_objects() {
    let Some(cluster) = Cluster::start(&Options::default()).await else { return };
    let script = "set -e
kubectl get crd injections.vestibule.dev -o json > new.json
kubectl patch crd injections.vestibule.dev --type=json -p '[
  {\"op\": \"add\", \"path\": \"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/former\", \"value\": {\"type\": \"string\", \"default\": \"a\"}},
  {\"op\": \"remove\", \"path\": \"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/order\"}]'
kubectl wait --for=condition=Established crd/injections.vestibule.dev
until kubectl apply -f rule.yaml && [ \"$(kubectl get injection label -o jsonpath='{.spec.former}')\" = a ]; do
  kubectl delete --ignore-not-found injection label
done
kubectl get injection label -o jsonpath='{.metadata.uid}' > before";
    let folder = Folder::with(&[("rule.yaml", LABEL)]);
    let run = |script: &str| super::kubectl(&cluster.environment, &cluster.tools, &folder, script);
    run(script).exits(0);
    cluster.environment.apply(cluster.manifests.clone()).await.unwrap();
    run("kubectl replace -f new.json");
    let _server = cluster.replica("first").await;
    cluster.until(IN_FORCE, |found| found == "on 1 of 1 replicas").await;
    run("[ \"$(kubectl get injection label -o jsonpath='{.metadata.uid}')\" = \"$(cat before)\" ]").exits(0);
    run("kubectl patch injection label --type=merge -p '{\"spec\": {\"order\": 7}}'").exits(0);
}
