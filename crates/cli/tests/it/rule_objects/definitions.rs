//! The definitions without an injector, and `kubectl explain` of docs/how-to/rules-as-objects.md.

use vestibule_testenv::{Options, start_or_skip, tools_or_skip};

use super::kubectl;
use crate::examples;
use crate::fixture::Folder;
use crate::wait;

/// A rule with `spec`.
fn rule(spec: &str) -> String {
    format!("apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: bad}}\nspec: {spec}\n")
}

#[tokio::test]
async fn the_api_server_explains_and_checks_the_format_while_no_injector_runs() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(environment) = start_or_skip(&Options::default()).await else { return };
    let folder = Folder::with(&[]);
    let manifests =
        folder.run("manifests --namespace webhooks --image registry.invalid/injector:test").stdout();
    let folder = Folder::with(&[("injector.yaml", &manifests)]);
    let run = |script: &str| kubectl(&environment, &tools, &folder, script);
    // `kubectl apply` keeps a copy of each object in an annotation, and annotations have at most 256 KiB.
    run("kubectl create namespace webhooks && kubectl apply -f injector.yaml").exits(0);
    run("kubectl wait --for=condition=Established --timeout=60s crd/injections.vestibule.dev crd/injectorsettings.vestibule.dev").exits(0);
    // The API server publishes the schema of a new definition after a moment.
    let explained = async || run("kubectl explain injection.spec.sidecars");
    wait::until(explained, |done| done.code() == 0).await.unwrap();

    let examples = examples::rules();
    run(&format!("kubectl apply -f {}", examples.display())).exits(0);
    let listed = run("kubectl get vestibule").stdout();
    assert!(
        examples::names(&examples)
            .iter()
            .all(|name| listed.contains(&format!("injection.vestibule.dev/{name}"))),
        "{listed}"
    );
    let wide = run("kubectl get vinj nginx").stdout();
    let columns: Vec<_> =
        wide.lines().next().unwrap().split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(
        columns,
        ["NAME", "TARGETS", "OPT-IN", "PERCENT", "ACCEPTED", "READY", "INJECTED", "LAGGING", "AGE"],
        "{wide}"
    );

    for (field, words) in [
        ("injection.spec.sidecars", "Containers that run beside the others."),
        ("injection.spec.sidecars.mode", "Default: `auto`."),
        ("injection.spec.sidecars.livenessProbe", "The liveness probe."),
        ("injection.spec.volumes.emptyDir", "kubectl explain pod.spec.volumes.emptyDir"),
        ("injection.spec.rollout.percent", "The share of workloads"),
        ("injection.status.conditions", "`InForce`"),
        ("injectorsettings.spec.mode", "In quotes"),
    ] {
        let shown = run(&format!("kubectl explain {field}")).stdout();
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "{field}: {shown}");
    }

    for (spec, words) in [
        ("{optin: pod, pod: {labels: {a: b}}}", "unknown field \"spec.optin\""),
        (
            "{optIn: maybe, pod: {labels: {a: b}}}",
            "supported values: \"namespace\", \"pod\", \"either\", \"always\"",
        ),
        ("{targets: [], pod: {labels: {a: b}}}", "spec.targets in body should have at least 1 items"),
        ("{remove: [{env: {containers: [], name: A}}]}", "containers in body should have at least 1 items"),
        (
            "{required: true, onError: skip, pod: {labels: {a: b}}}",
            "`required: true` and `onError: skip` contradict each other",
        ),
        ("{rollout: {percent: 101}, pod: {labels: {a: b}}}", "`percent` is a number from 0 to 100"),
        ("{remove: [{env: {containers: all, name: A}, labels: {key: b}}]}", "exactly one member"),
        (
            "{parameters: [{name: a, type: int, default: 1, pattern: b}], pod: {labels: {a: b}}}",
            "`pattern` is for `type: string`",
        ),
        ("{sidecars: a}", "must be of type array"),
    ] {
        let folder = Folder::with(&[("bad.yaml", &rule(spec))]);
        let refused = kubectl(&environment, &tools, &folder, "kubectl apply -f bad.yaml");
        assert_eq!(refused.code(), 1, "{spec}");
        refused.tells(words);
    }
    let long = rule("{pod: {labels: {a: b}}}").replace("name: bad", "name: a.b");
    let folder = Folder::with(&[("bad.yaml", &long)]);
    kubectl(&environment, &tools, &folder, "kubectl apply -f bad.yaml").tells("metadata.name has at most 63");
}
