//! Installation, comparison and removal by the API calls of Argo CD and Flux, with a rule beside the installation, as in a repository
//! that both come from.

use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::until;

use super::NAMESPACE;
use super::fixture::Cluster;
use crate::api::{self, Reply, path};
use crate::fixture::{Folder, objects};
use crate::how_to::ROOT;

/// The names under which the API server keeps the fields that Argo CD and Flux apply.
pub(super) const ARGO_CD: &str = "argocd-controller";
pub(super) const FLUX: &str = "kustomize-controller";

pub(super) fn rule(name: &str) -> Value {
    json!({
        "apiVersion": "vestibule.dev/v1alpha1",
        "kind": "Injection",
        "metadata": {"name": name},
        "spec": {"match": {"objectSelector": {"matchLabels": {"app": "web"}}}, "pod": {"labels": {name: "yes"}}},
    })
}

/// The objects of deploy/install.yaml.
pub(super) fn installation() -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{ROOT}/deploy/install.yaml")).unwrap();
    objects(&text)
}

/// Server-side apply that takes over fields of other managers, as `kubectl apply --server-side --force-conflicts` and Flux send it.
pub(super) async fn apply(client: &Client, manager: &str, object: &Value, dry_run: bool) -> Value {
    let dry_run = if dry_run { "&dryRun=All" } else { "" };
    api::apply(client, object, &format!("fieldManager={manager}&force=true{dry_run}")).await.object()
}

pub(super) async fn read(client: &Client, object: &Value) -> Reply {
    api::get(client, &path(object)).await
}

/// The difference that each manager sees, from a dry run of its apply: Argo CD with server-side diff, and Flux, compare so. Their
/// comparison leaves out more of the metadata than this one, and the status.
pub(super) async fn differences(client: &Client, managers: &[&str], object: &Value) -> Vec<String> {
    loop {
        let live = read(client, object).await.object();
        let mut seen = Vec::new();
        for manager in managers {
            let wanted = apply(client, manager, object, true).await;
            if compared(&wanted) != compared(&live) {
                seen.push(format!("{manager} would change {}:\n{live}\nto\n{wanted}", path(object)));
            }
        }
        if seen.is_empty() {
            return seen;
        }
        // A write of a replica between the two requests is no difference.
        let now = read(client, object).await.object();
        if now["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"] {
            return seen;
        }
    }
}

/// The object without the list of managers, which has the time of the apply.
fn compared(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

/// Namespaces and definitions first, rules last: both tools sort the objects so, and delete in the reverse order.
fn stage(object: &Value) -> usize {
    match object["kind"].as_str().unwrap() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "Injection" => 3,
        _ => 2,
    }
}

fn in_stages() -> Vec<Vec<Value>> {
    let mut objects = [installation(), vec![rule("labelled")]].concat();
    objects.sort_by_key(stage);
    objects.chunk_by(|one, other| stage(one) == stage(other)).map(<[Value]>::to_vec).collect()
}

/// Argo CD syncs by `kubectl apply`, one wave after the other.
fn argo_cd_syncs(cluster: &Cluster, command: &str) -> String {
    let mut out = String::new();
    for wave in in_stages() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": wave});
        let files = Folder::with(&[("wave.json", &list.to_string())]);
        let file = files.path().join("wave.json");
        let flags = format!("--field-manager={ARGO_CD} -f {}", file.display());
        let done = cluster.run(&format!("kubectl {command} {flags}"));
        assert!(!done.err.to_lowercase().contains("conflict"), "{}", done.err);
        out += &done.stdout();
        established(cluster);
    }
    out
}

/// Both tools wait until the API server serves the kinds of a stage.
fn established(cluster: &Cluster) {
    let all = "injections.vestibule.dev injectorsettings.vestibule.dev namespacedinjections.vestibule.dev";
    let wait = "kubectl wait --for=condition=Established --timeout=60s crd";
    cluster.run(&format!("if kubectl get crd {all} >/dev/null 2>&1; then {wait} {all}; fi")).exits(0);
}

/// A prune of both tools: without a wait for dependents, which only a garbage collector would delete.
async fn prune(cluster: &Cluster, client: &Client) {
    cluster.definitions_are_served().await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    for object in in_stages().iter().rev().flatten() {
        api::delete(client, &path(object), &options).await.object();
        // The rules are gone before their definition is deleted. A namespace waits for its controller.
        let is_gone =
            async || object["kind"] == "Namespace" || !read(client, object).await.status.is_success();
        until(&path(object), Duration::from_secs(60), is_gone).await.unwrap();
    }
}

#[tokio::test]
async fn argo_cd_installs_and_removes_everything() {
    let Some(cluster) = Cluster::start().await else { return };
    let (before, client) = (cluster.objects(), cluster.environment.admin().unwrap());
    for mode in ["", "--server-side --force-conflicts"] {
        argo_cd_syncs(&cluster, &format!("apply {mode}"));
        // Again: no object changes.
        assert_eq!(argo_cd_syncs(&cluster, &format!("diff {mode}")), "", "{mode}");
        prune(&cluster, &client).await;
        cluster.assert_gone(&before).await;
        cluster.namespace_ends().await;
    }
}

#[tokio::test]
async fn flux_installs_and_removes_everything() {
    let Some(cluster) = Cluster::start().await else { return };
    let (before, client) = (cluster.objects(), cluster.environment.admin().unwrap());
    for stage in in_stages() {
        for object in &stage {
            // Flux applies only what differs, and asks by a dry run.
            apply(&client, FLUX, object, true).await;
            apply(&client, FLUX, object, false).await;
        }
        established(&cluster);
    }
    for object in in_stages().iter().flatten() {
        assert_eq!(differences(&client, &[FLUX], object).await, [""; 0]);
    }
    prune(&cluster, &client).await;
    cluster.assert_gone(&before).await;
    cluster.namespace_ends().await;
}

/// A comparison that finds nothing has to be able to find something.
#[tokio::test]
async fn a_foreign_change_is_a_difference() {
    let Some(cluster) = Cluster::start().await else { return };
    let client = cluster.environment.admin().unwrap();
    let objects = installation();
    let home = objects.iter().find(|object| object["kind"] == "Namespace").unwrap();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    for object in [home, deployment] {
        apply(&client, FLUX, object, false).await;
    }
    assert_eq!(differences(&client, &[ARGO_CD, FLUX], deployment).await, [""; 0]);
    cluster.run(&format!("kubectl scale deployment injector --replicas=5 -n {NAMESPACE}")).exits(0);
    let seen = differences(&client, &[ARGO_CD, FLUX], deployment).await;
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].starts_with("argocd-controller would change /apis/apps/v1/"), "{seen:?}");
}
