use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use serde_json::value::RawValue;
use vestibule_admission::Operation::{Create, Update};
use vestibule_admission::{Decision, Version as ReviewVersion};

use super::*;
use crate::handler::change::Change;
use crate::handler::context::Context;
use crate::handler::reject::{Reject, deny};
use crate::registration::on::choices::FailurePolicy;
use crate::registration::on::choices::{MatchPolicy, Reinvocation, Scope, SideEffects};
use crate::registration::on::{on, on_rules};
use crate::registration::rule::Rule;
use crate::tests::{call, patch_of, review};

async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

async fn pass(_: Change<Deployment>, _: Context) -> Result<(), Reject> {
    Ok(())
}

fn problems(app: &App) -> Vec<String> {
    app.check().unwrap_err().problems
}

#[test]
fn a_missing_failure_policy_is_a_problem() {
    let app = App::new("demo").mutate("label", on::<Pod>([Create]), same);
    let [problem] = &*problems(&app) else { panic!("one problem") };
    assert!(problem.contains("hook `label`") && problem.contains(".failure_policy(..)"), "{problem}");
    assert!(app.registration(&Target::service("shop/hook").unwrap(), "").is_err());
}

#[test]
fn all_problems_are_reported_together() {
    let app = App::new("Demo")
        .mutate(
            "a_b",
            on::<Pod>([]).failure_policy(FailurePolicy::Ignore).timeout_seconds(31).namespaces("in (x)"),
            same,
        )
        .mutate("twice", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same)
        .validate("twice", on::<Deployment>([Create]).failure_policy(FailurePolicy::Ignore), pass);
    let said = problems(&app).join("\n");
    for expected in
        ["`Demo`", "becomes a path", "at least one operation", "1 to 30", "`in (x)`", "name is taken"]
    {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    assert!(problems(&App::new("empty"))[0].contains("no hook"));
}

#[test]
fn a_name_that_is_too_long_is_told_its_limit() {
    let long = "a".repeat(64);
    let app = App::new(&*long).mutate(&long, on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same);
    let said = problems(&app);
    assert!(said.len() == 2 && said.iter().all(|problem| problem.contains("1 to 63")), "{said:?}");
}

#[test]
fn a_definition_is_printed_once() {
    let definition = || {
        let mut definition = CustomResourceDefinition::default();
        definition.metadata.name = Some("links.example.com".to_owned());
        definition
    };
    let raw = || Conversion::raw("links.example.com", |object: &RawValue, _: &str| Ok(object.to_owned()));
    let converted = App::new("demo").convert("links", raw().definition(definition()));
    assert!(converted.check().is_ok());
    let [problem] = &*problems(&converted.definition(definition())) else { panic!("one problem") };
    assert!(problem.contains("`links.example.com` is given twice"), "{problem}");
    // A conversion prints no definition unless it is given one.
    let once = App::new("demo").convert("links", raw()).definition(definition());
    assert!(once.check().is_ok());
    assert_eq!(problems(&once.definition(definition())).len(), 1);
}

#[test]
fn only_mutating_hooks_of_the_app_have_changing_entries() {
    let entries = Entries::of(["label", "check", "gone"]);
    let app = App::new("demo")
        .mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same)
        .validate("check", on::<Deployment>([Create]).failure_policy(FailurePolicy::Ignore), pass)
        .entries(&entries);
    let said = problems(&app);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("hook `check`: only mutating hooks"), "{said:?}");
    assert!(said[1].contains("hook `gone` has entries of its own, and is no hook"), "{said:?}");
}

#[test]
fn an_app_that_the_api_server_would_refuse_fails_its_check() {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore);
    let wrong = pods()
        .match_condition("a b", "true")
        .match_condition("twice", "true")
        .match_condition("twice", " ")
        .review_versions([])
        .qualified_name("two.segments")
        .path("/Mutate/");
    let rules = [
        Rule::new("apps/v1/x", "pods/status/x", [Create]),
        Rule::new("v1", "Pods", []),
        Rule::new("*/*", "*/*", [Create]),
    ];
    let app = App::new("demo")
        .mutate("wrong", wrong, same)
        .mutate("rules", on_rules::<Pod>(rules).failure_policy(FailurePolicy::Ignore), same)
        .mutate("none", on_rules::<Pod>([]).failure_policy(FailurePolicy::Ignore), same)
        .mutate("path", pods().path("/mutate/x").qualified_name("a.b.c"), same)
        .mutate("x", pods().qualified_name("a.b.c"), same)
        .mutate("versions", pods().review_versions([ReviewVersion::V1, ReviewVersion::V1]), same)
        .validate(
            "again",
            on::<Deployment>([Create])
                .failure_policy(FailurePolicy::Ignore)
                .reinvocation(Reinvocation::Never),
            pass,
        );
    let problems = problems(&app);
    for expected in [
        "hook `wrong`: `a b` is no name of a match condition",
        "hook `wrong`: the match condition `twice` is there twice",
        "hook `wrong`: the match condition `twice` has no expression",
        "hook `wrong`: name at least one version of the review",
        "hook `versions`: name each version of the review once",
        "hook `wrong`: `two.segments` is no name",
        "hook `wrong`: `/Mutate/` is no path",
        "hook `rules`: `apps/v1/x` is no API version",
        "hook `rules`: `pods/status/x` is no resource",
        "hook `rules`: `Pods` is no resource",
        "hook `rules`: name at least one operation on `Pods`",
        "hook `none`: name at least one resource",
        "hook `again`: only a mutating hook is called again",
        "hook `x`: the path `/mutate/x` is taken",
        "hook `x`: the qualified name `a.b.c` is taken",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected} in {problems:#?}");
    }
    assert_eq!(problems.len(), 15, "{problems:#?}");
}

#[test]
fn every_field_can_be_set() {
    let on = on::<Pod>([Create])
        .subresource("status")
        .scope(Scope::Namespaced)
        .namespaces("team in (a,b)")
        .objects("app=web")
        .match_condition("not-nodes", "!('system:nodes' in request.userInfo.groups)")
        .match_policy(MatchPolicy::Exact)
        .reinvocation(Reinvocation::Never)
        .side_effects(SideEffects::NoneOnDryRun)
        .review_versions([ReviewVersion::V1, ReviewVersion::V1beta1])
        .timeout_seconds(30)
        .path("/mutate")
        .qualified_name("pods.example.com")
        .system_namespaces()
        .failure_policy(FailurePolicy::Fail);
    let app = App::new("demo").mutate("pods", on, same);
    let registration = app.registration(&Target::service("shop/hook").unwrap(), "").unwrap();
    assert_eq!(
        json!(registration.mutating.unwrap().webhooks),
        json!([{
            "name": "pods.example.com",
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": {"service": {"namespace": "shop", "name": "hook", "path": "/mutate", "port": 443}},
            "failurePolicy": "Fail",
            "matchConditions": [
                {"name": "not-nodes", "expression": "!('system:nodes' in request.userInfo.groups)"},
            ],
            "matchPolicy": "Exact",
            "namespaceSelector": {
                "matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}],
            },
            "objectSelector": {"matchLabels": {"app": "web"}},
            "reinvocationPolicy": "Never",
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/status"],
                "scope": "Namespaced",
            }],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 30,
        }])
    );
}

#[tokio::test]
async fn clones_of_an_app_share_their_handlers() {
    let calls = Arc::new(AtomicUsize::new(0));
    let label = move |mut pod: Pod, _: Context| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            pod.metadata.labels.get_or_insert_default().insert("call".to_owned(), call.to_string());
            Ok(pod)
        }
    };
    let app =
        App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
    for (call, app) in [app.clone(), app].iter().enumerate() {
        let hook = app.hooks()[0].hook(&app.environment(None).unwrap());
        let answer = crate::tests::call(hook, &review("CREATE", |_| {})).await;
        assert_eq!(patch_of(&answer)[0]["value"], json!({"call": call.to_string()}));
    }
}

#[tokio::test]
async fn a_validator_skips_finalizer_updates_where_its_author_says_so() {
    let refuse = async |_: Change<Pod>, _: Context| -> Result<(), Reject> { Err(deny("no")) };
    let on = || on::<Pod>([Update]).failure_policy(FailurePolicy::Fail);
    let app = App::new("demo").validate("skips", on().skip_finalizer_updates(true), refuse).validate(
        "asked",
        on().skip_finalizer_updates(false),
        refuse,
    );
    assert_eq!(decisions_on_a_finalizer_update(&app).await, [Decision::Allowed, Decision::Denied(403)]);
}

/// A validator that protects finalizers was never asked about them.
#[tokio::test]
async fn a_validator_gets_finalizer_updates_by_default() {
    let refuse = async |_: Change<Pod>, _: Context| -> Result<(), Reject> { Err(deny("keep the finalizer")) };
    let change = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err(deny("called")) };
    let on = || on::<Pod>([Update]).failure_policy(FailurePolicy::Fail);
    let app = App::new("demo").validate("judge", on(), refuse).mutate("change", on(), change);
    assert_eq!(decisions_on_a_finalizer_update(&app).await, [Decision::Denied(403), Decision::Allowed]);
}

#[test]
fn the_registration_is_safe_by_default() {
    let app = App::new("demo")
        .mutate(
            "label",
            on::<Pod>([Create]).namespaces("injection=enabled").failure_policy(FailurePolicy::Ignore),
            same,
        )
        .validate("guard", on::<Deployment>([Create, Update]).failure_policy(FailurePolicy::Fail), pass);
    let registration = app.registration(&Target::service("shop/hook:8443").unwrap(), "PEM").unwrap();
    let mutating = json!(registration.mutating.unwrap());
    assert_eq!(mutating["metadata"]["name"], "demo");
    assert_eq!(
        mutating["webhooks"],
        json!([{
            "name": "label.demo.vestibule.dev",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "caBundle": "UEVN",
                "service": {"namespace": "shop", "name": "hook", "path": "/mutate/label", "port": 8443},
            },
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {
                "matchLabels": {"injection": "enabled"},
                "matchExpressions": [{
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["kube-node-lease", "kube-public", "kube-system", "shop"],
                }],
            },
            "objectSelector": {},
            "reinvocationPolicy": "IfNeeded",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "sideEffects": "None",
            "timeoutSeconds": 5,
        }])
    );
    let validating = json!(registration.validating.unwrap());
    assert_eq!(validating["webhooks"][0]["failurePolicy"], "Fail");
    assert_eq!(validating["webhooks"][0]["rules"][0]["operations"], json!(["CREATE", "UPDATE"]));
    assert_eq!(validating["webhooks"][0]["clientConfig"]["service"]["path"], "/validate/guard");
}

#[test]
fn a_url_excludes_no_own_namespace() {
    let app =
        App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), same);
    let registration = app.registration(&Target::url("https://127.0.0.1:8443").unwrap(), "PEM").unwrap();
    let webhook = json!(registration.objects()[0]["webhooks"][0]);
    assert_eq!(webhook["clientConfig"]["url"], "https://127.0.0.1:8443/mutate/label");
    let excluded = webhook["namespaceSelector"]["matchExpressions"][0]["values"].as_array().unwrap().len();
    assert_eq!(excluded, 3);
}

/// The decision of each hook about an update that removes the last finalizer of a deleted object.
async fn decisions_on_a_finalizer_update(app: &App) -> Vec<Decision> {
    let body = review("UPDATE", |request| {
        request["object"]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        request["oldObject"] = request["object"].clone();
        request["oldObject"]["metadata"]["finalizers"] = json!(["example.com/keep"]);
    });
    let mut decisions = Vec::new();
    for hook in app.hooks() {
        decisions.push(call(hook.hook(&app.environment(None).unwrap()), &body).await.decision);
    }
    decisions
}
