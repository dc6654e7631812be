//! The kit, on apps with the usual handlers and the usual mistakes.

mod cluster;
mod how_to;
mod judge;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule::Operation::{Create, Delete, Update};
use vestibule::admission::Unconvertible;
use vestibule::tooling::{Entries, Entry};
use vestibule::{
    App, Change, Context, Conversion, FailurePolicy, Mutation, Objects, OnFault, Reject, Rule, Scope, deny,
    on, on_raw, on_rules,
};
use vestibule_test::call;

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "web:1", "resizePolicy2": [] }] },
    })
}

async fn sidecar(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    context.audit("user", context.user().username.clone());
    context.audit("groups", context.user().groups.join(" "));
    if context.dry_run() {
        context.warn("only a rehearsal");
    }
    match context.namespace() {
        Some("forbidden") => return Err(deny("not here").field("metadata.namespace", "is forbidden")),
        Some("broken") => return Err(Reject::fault("the disk is full")),
        Some("slow") => std::future::pending().await,
        Some("panic") => panic!("oh no"),
        _ => {}
    }
    let containers = &mut pod.spec.get_or_insert_default().containers;
    if !containers.iter().any(|container| container.name == "sidecar") {
        containers.insert(0, Container { name: "sidecar".to_owned(), ..Container::default() });
    }
    Ok(pod)
}

async fn stays(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    match change {
        Change::Delete { .. } => Err(deny("it stays")),
        _ => Ok(()),
    }
}

async fn counts(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    let labels = pod.metadata.labels.get_or_insert_default();
    let count = labels.get("count").map_or(0, |count| count.parse().unwrap_or(0));
    labels.insert("count".to_owned(), format!("{}", count + 1));
    Ok(pod)
}

fn app() -> App {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(1);
    App::new("kit")
        .mutate("sidecar", pods().objects("sidecar!=no").namespaces("team=shop"), sidecar)
        .mutate("counts", pods().failure_policy(FailurePolicy::Ignore), counts)
        .validate("stays", on::<Pod>([Create, Delete]).failure_policy(FailurePolicy::Ignore), stays)
}

fn said(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(check).expect_err("the assertion holds, and must not");
    panic.downcast::<String>().map_or_else(|_| "no text".to_owned(), |text| *text)
}

#[tokio::test]
async fn an_outcome_holds_the_patched_object() {
    let outcome = call(&app(), "sidecar").create(pod()).by("alice").dry_run().await;
    outcome
        .assert_allowed()
        .assert_object(|pod: &Pod| assert_eq!(pod.spec.as_ref().unwrap().containers[0].name, "sidecar"))
        .assert_warned("rehearsal")
        .assert_audited("user", "alice")
        .assert_applies()
        .assert_idempotent()
        .assert_keeps_unknown_fields();
    // The second container keeps the member that no Pod has.
    assert_eq!(outcome.object::<Value>()["spec"]["containers"][1]["resizePolicy2"], json!([]));
    assert_eq!(outcome.patch().len(), 1);
    assert!(outcome.is_admitted() && outcome.message().is_none());
}

#[tokio::test]
async fn the_parts_of_a_request_are_given_in_any_order() {
    let app = app();
    let call = || call(&app, "sidecar").create(pod());
    for request in [call().by("alice").in_group("shop"), call().in_group("shop").by("alice")] {
        request.await.assert_audited("user", "alice").assert_audited("groups", "system:authenticated shop");
    }
}

#[tokio::test]
async fn denials_and_faults_are_told_apart() {
    let app = app();
    let denied = call(&app, "sidecar").create(pod()).namespace("forbidden").await;
    denied.assert_denied("not here").assert_code(403).assert_cause("metadata.namespace", "forbidden");
    let message = r#"admission webhook "sidecar.kit.vestibule.dev" denied the request: not here"#;
    assert_eq!(denied.message(), Some(message));

    call(&app, "sidecar").create(pod()).namespace("broken").await.assert_fault_says("the disk is full");
    call(&app, "sidecar").create(pod()).namespace("panic").await.assert_fault_says("panicked");
    let began = std::time::Instant::now();
    let late = call(&app, "sidecar").create(pod()).namespace("slow").await;
    assert!(!late.assert_fault_says("gave no verdict within 750 ms").is_admitted());
    assert!(began.elapsed() < Duration::from_secs(5));

    call(&app, "stays").delete(pod()).await.assert_denied("it stays");
    call(&app, "stays").create(pod()).await.assert_unchanged().assert_idempotent();
}

#[tokio::test]
async fn the_resource_of_an_object_of_another_group_is_the_one_of_the_rules() {
    let resource = async |_: Change<Value>, context: Context| -> Result<(), Reject> {
        let (group, version, plural) = context.resource();
        Err(deny(format!("{group}/{version} {plural}")))
    };
    let rules =
        ["deployments/scale", "statefulsets/scale"].map(|scale| Rule::new("apps/v1", scale, [Update]));
    let app = App::new("kit").validate(
        "scale",
        on_rules::<Value>(rules).failure_policy(FailurePolicy::Fail),
        resource,
    );
    let scale = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "web" } });
    let request = || call(&app, "scale").update(&scale, &scale);
    request().await.assert_denied("apps/v1 deployments");
    request().resource("statefulsets").await.assert_denied("apps/v1 statefulsets");
    let rules = ["pods/binding", "bindings"].map(|plural| Rule::new("v1", plural, [Create]));
    let on = on_rules::<Value>(rules).failure_policy(FailurePolicy::Fail);
    let app = App::new("kit").validate("binding", on, resource);
    let binding = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "web" } });
    let request = || call(&app, "binding").create(&binding);
    request().await.assert_denied("/v1 bindings");
    request().subresource("binding").await.assert_denied("/v1 pods");
}

#[tokio::test]
async fn a_request_that_no_rule_or_selector_matches_is_not_called() {
    let app = app();
    let call = || call(&app, "sidecar");
    call().delete(pod()).await.assert_not_called();
    call().create(pod()).subresource("status").await.assert_not_called();
    call().create(pod()).namespace_labels([("team", "other")]).await.assert_not_called();
    call().create(pod()).namespace_labels([("team", "shop")]).await.assert_allowed();
    let mut labelled = pod();
    labelled["metadata"]["labels"] = json!({ "sidecar": "no" });
    let not_called = call().create(&labelled).await;
    not_called.assert_not_called();
    let not_called = std::panic::AssertUnwindSafe(&not_called);
    let text = said(|| _ = not_called.assert_allowed());
    assert!(text.contains("object selector"), "{text}");
}

/// The kit called the hook there, although the manifests exclude the namespace.
#[tokio::test]
async fn a_hook_is_not_called_in_an_excluded_namespace() {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail);
    let app = App::new("kit")
        .service("home/hooks")
        .validate("usual", pods(), stays)
        .validate("team", pods().namespaces("team=shop"), stays)
        .validate("home", pods().own_namespace(), stays)
        .validate("system", pods().system_namespaces(), stays);
    let call = |hook, namespace| call(&app, hook).create(pod()).namespace(namespace);
    for excluded in ["kube-system", "kube-public", "kube-node-lease", "home"] {
        call("usual", excluded).await.assert_not_called();
        call("team", excluded).await.assert_not_called();
        call("team", excluded).namespace_labels([("team", "shop")]).await.assert_not_called();
        call("system", excluded).await.assert_allowed();
    }
    call("home", "home").await.assert_allowed();
    call("home", "kube-system").await.assert_not_called();
    call("usual", "shop").await.assert_allowed();
    call("usual", "shop").namespace_labels([]).await.assert_allowed();
    call("team", "shop").await.assert_allowed();
    // A namespace is selected by its own labels.
    let namespace =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let namespaces = App::new("kit").validate(
        "all",
        on_rules::<Value>([Rule::new("v1", "*", [Create])]).failure_policy(FailurePolicy::Fail),
        fine,
    );
    vestibule_test::call(&namespaces, "all").create(namespace("kube-system")).await.assert_not_called();
    vestibule_test::call(&namespaces, "all").create(namespace("shop")).await.assert_allowed();
}

/// The kit called the hook although no entry names it.
#[tokio::test]
async fn a_hook_with_entries_of_its_own_is_called_by_these_entries() {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore);
    let entries = Entries::of(["counts"]);
    let app = App::new("kit").mutate("counts", pods(), counts).entries(&entries);
    let call = |team: &'static str| call(&app, "counts").create(pod()).namespace_labels([("team", team)]);
    call("blue").await.assert_not_called();
    let entry = |name: &str, team: &str| {
        let on = on_raw([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Ignore);
        Entry::new("counts", name, on.namespaces(&format!("team={team}")))
    };
    entries.set(vec![entry("counts-blue", "blue"), entry("counts-red", "red")]).unwrap();
    call("blue").await.assert_allowed();
    call("red").await.assert_allowed();
    call("green").await.assert_not_called();
}

/// Warnings were lost together with the handler.
#[tokio::test]
async fn warnings_before_a_timeout_or_a_panic_are_sent() {
    let speaks = async |pod: Pod, context: Context| {
        context.warn("look out");
        context.audit("seen", "yes");
        match context.namespace() {
            Some("panic") => panic!("oh no"),
            _ => std::future::pending::<()>().await,
        }
        Ok::<_, Reject>(pod)
    };
    let pods = |on_fault| {
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(1).on_fault(on_fault)
    };
    let app = App::new("kit").mutate("warns", pods(OnFault::AllowWithWarning), speaks).mutate(
        "denies",
        pods(OnFault::Deny),
        speaks,
    );
    for namespace in ["slow", "panic"] {
        let warned = call(&app, "warns").create(pod()).namespace(namespace).await;
        warned.assert_allowed().assert_warned("look out").assert_audited("seen", "yes");
        let denied = call(&app, "denies").create(pod()).namespace(namespace).await;
        denied.assert_code(500).assert_warned("look out").assert_audited("seen", "yes");
    }
}

async fn fine(_: Change<Value>, _: Context) -> Result<(), Reject> {
    Ok(())
}

#[tokio::test]
async fn rules_and_selectors_are_read_as_the_api_server_reads_them() {
    let rules = |resource: &str, scope| {
        on_rules::<Value>([Rule::new("v1", resource, [Create]).scope(scope)])
            .failure_policy(FailurePolicy::Ignore)
    };
    let app = App::new("kit")
        .validate("pods", rules("pods/*", Scope::Any), fine)
        .validate("namespaced", rules("*", Scope::Namespaced), fine)
        .validate("cluster", rules("*", Scope::Cluster), fine)
        .validate("teams", rules("*", Scope::Any).namespaces("team"), fine);
    // With or without a subresource.
    call(&app, "pods").create(pod()).await.assert_allowed();
    call(&app, "pods").create(pod()).subresource("status").await.assert_allowed();
    let namespace = |labels: Value| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a", "labels": labels } });
    let (bare, team) = (namespace(json!({})), namespace(json!({ "team": "shop" })));
    call(&app, "namespaced").create(pod()).await.assert_allowed();
    call(&app, "namespaced").create(&bare).await.assert_not_called();
    call(&app, "cluster").create(pod()).await.assert_not_called();
    call(&app, "cluster").create(&bare).await.assert_allowed();
    // A namespace is selected by its own labels; a node by none.
    call(&app, "teams").create(bare).await.assert_not_called();
    call(&app, "teams").create(team).await.assert_allowed();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "a" } });
    call(&app, "teams").create(node).namespace_labels([("a", "b")]).await.assert_allowed();
}

#[tokio::test]
async fn a_failed_assertion_says_what_happened() {
    let app = app();
    let counted = call(&app, "counts").create(pod()).await;
    let counted = std::panic::AssertUnwindSafe(&counted);
    let text = said(|| _ = counted.assert_idempotent());
    assert!(
        text.contains("- metadata.labels.count: \"1\"") && text.contains("+ metadata.labels.count: \"2\"")
    );
    assert!(text.starts_with("hook `counts`: a second call changes it again: it was allowed"), "{text}");
    let text = said(|| _ = counted.assert_denied("no"));
    let expected = "hook `counts`: expected a denial, but it was allowed, changed by one operation";
    assert_eq!(text, expected);
    let text = said(|| _ = counted.assert_unchanged());
    assert!(text.contains("+ metadata.labels: {\"count\":\"1\"}"), "{text}");
    let text = said(|| _ = call(&super::kit::app(), "other"));
    assert_eq!(text, "the webhook `kit` has no hook `other`; it has sidecar, counts, stays");
}

/// Regression: the assertion failed, with an empty difference. The API server sees no change in such an answer.
#[tokio::test]
async fn a_patch_that_writes_what_is_there_is_idempotent() {
    let seen = async |_: Value, _: Context| -> Result<Mutation<Value>, Reject> {
        let patch = r#"[{"op": "add", "path": "/metadata/labels", "value": {"seen": "true"}}]"#;
        Ok(Mutation::Patch(serde_json::from_str(patch)?))
    };
    let on = on_rules([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Ignore);
    let outcome = call(&App::new("kit").mutate("seen", on, seen), "seen").create(pod()).await;
    assert_eq!(outcome.patch().len(), 1);
    outcome.assert_idempotent();
}

#[test]
fn the_kit_says_that_it_calls_no_conversion() {
    let app = || App::new("kit").convert("widgets", Conversion::raw("widgets.example.com", unconvertible));
    let text = said(|| _ = call(&app(), "widgets"));
    let expected = "the webhook `kit` has no hook `widgets`; it has none: conversions are called by a real API server only, see `Cluster`";
    assert_eq!(text, expected);
}

fn unconvertible(_: &RawValue, _: &str) -> Result<Box<RawValue>, Unconvertible> {
    Err(Unconvertible::new("never"))
}

#[tokio::test]
async fn cases_in_folders_hold() {
    vestibule_test::golden(&app(), "tests/golden").await;
}

async fn needs_quota(change: Change<Pod>, context: Context) -> Result<(), Reject> {
    let Change::Create { .. } = change else { return Ok(()) };
    match context.lookup::<ConfigMap>().get("quota").await? {
        Some(_) => Ok(()),
        None => Err(deny("no quota here")),
    }
}

#[tokio::test]
async fn lookups_find_the_objects_of_a_call() {
    let app = App::new("kit").read::<ConfigMap>().validate(
        "quota",
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
        needs_quota,
    );
    let quota = |namespace: &str| {
        let metadata = json!({ "name": "quota", "namespace": namespace });
        Objects::new().with(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))
    };
    call(&app, "quota").create(pod()).with(quota("default")).await.assert_allowed();
    call(&app, "quota").create(pod()).with(quota("other")).await.assert_denied("no quota here");
}

async fn careless(_: Value, _: Context) -> Result<Mutation<Value>, Reject> {
    let patch = json!([{ "op": "replace", "path": "/metadata/labels", "value": {} }]);
    Ok(Mutation::Patch(serde_json::from_value(patch)?))
}

#[tokio::test]
async fn a_patch_that_needs_the_leniency_of_the_api_server_is_a_fault() {
    let rules = on_rules::<Value>([Rule::new("v1", "pods", [Create])]).failure_policy(FailurePolicy::Ignore);
    let app = App::new("kit").mutate("careless", rules, careless);
    call(&app, "careless").create(pod()).await.assert_fault_says("/metadata/labels");
    let mut labelled = pod();
    labelled["metadata"]["labels"] = json!({ "a": "b" });
    let outcome = call(&app, "careless").create(labelled).await;
    outcome.assert_applies().assert_json(&json!({
        "apiVersion": "v1", "kind": "Pod", "spec": pod()["spec"],
        "metadata": { "name": "web", "namespace": "default", "labels": {} },
    }));
}
