//! From a review to an answer.

use std::sync::{Arc, Mutex};

use serde_json::json;
use vestibule_caller::{Outcome, Review};
use vestibule_injector::{DecisionContext, DecisionObserver, Namespaces, observed_app};
use vestibule_rules::Decision;

use crate::fixture::{self, TestInjector, pod, rules};

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: target}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  containerPatches: [{select: {all: true}, env: [{name: TARGET, value: hall}]}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  pod: {labels: {asked: \"true\"}}
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  required: true
  match: {objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: fleet}
spec:
  targets: [deployments]
  match: {objectSelector: {matchLabels: {app: web}}}
  containerPatches: [{select: {all: true}, env: [{name: FLEET, value: \"1\"}]}]
";

async fn injector() -> TestInjector {
    fixture::injector(rules(RULES), Namespaces::unknown()).await
}

/// A rule may move from one hook to the other between two calls of a create: the second hook finds all changes made.
#[tokio::test]
async fn the_hook_that_is_called_first_makes_all_changes() {
    let injector = injector().await;
    let review = Review::create(pod("shop")).build().unwrap();
    for (first, second) in [("required", "best-effort"), ("best-effort", "required")] {
        let allowed = injector.allowed(first, &review).await;
        let made = allowed.object.unwrap();
        assert_eq!(made["spec"]["containers"][0]["env"], json!([{"name": "TARGET", "value": "hall"}]));
        assert_eq!(made["spec"]["volumes"], json!([{"name": "data", "emptyDir": {}}]));
        let status = made["metadata"]["annotations"]["vestibule.dev/injected"].as_str().unwrap();
        assert!(status.contains("data@") && status.contains("target@"), "{status}");
        let audit = |hook: &str, of: &std::collections::BTreeMap<String, String>| {
            ["rules", "skipped"].map(|key| of.get(&format!("{hook}/{key}")).cloned().unwrap_or_default())
        };
        let told = audit(first, &allowed.audit_annotations.kept);
        assert_eq!(told[0], "data,target", "{first}");

        let again = review.clone().with_object(made).unwrap();
        let allowed = injector.allowed(second, &again).await;
        assert!(allowed.patch.is_none(), "{second}");
        // Exactly one hook reports the skipped rule.
        let skipped = [told[1].clone(), audit(second, &allowed.audit_annotations.kept)[1].clone()].concat();
        assert_eq!(skipped, "asked=not_opted_in", "{first}");
    }
}

#[tokio::test]
async fn a_hook_without_rules_answers() {
    let injector = fixture::injector(rules(""), Namespaces::unknown()).await;
    let review = Review::create(pod("shop")).build().unwrap();
    for hook in ["required", "best-effort"] {
        let allowed = injector.allowed(hook, &review).await;
        assert!(allowed.patch.is_none());
    }
}

#[tokio::test]
async fn audit_annotations_name_the_rules_that_were_applied_and_skipped() {
    let injector = injector().await;
    let review = Review::create(pod("shop")).build().unwrap();
    let allowed = injector.allowed("best-effort", &review).await;
    let kept: Vec<_> = allowed.audit_annotations.kept.into_iter().collect();
    let hash = rules(RULES).hash().to_owned();
    let expected = [("config", hash.as_str()), ("rules", "data,target"), ("skipped", "asked=not_opted_in")];
    let expected = expected.map(|(key, value)| (format!("best-effort/{key}"), value.to_owned()));
    assert_eq!(kept, expected);
    assert!(allowed.audit_annotations.dropped.is_empty());
    // kube-apiserver refuses a second value for a key that has one already.
    let again = review.with_object(allowed.object.unwrap()).unwrap();
    let allowed = injector.allowed("best-effort", &again).await;
    let again: Vec<_> = allowed.audit_annotations.kept.into_iter().collect();
    assert_eq!(again, [kept[0].clone(), kept[2].clone()]);
}

#[tokio::test]
async fn a_required_rule_that_cannot_be_applied_denies() {
    let injector = injector().await;
    let mut taken = pod("shop");
    taken["spec"]["volumes"] = json!([{"name": "data", "hostPath": {"path": "/data"}}]);
    let review = Review::create(taken).build().unwrap();
    for hook in ["required", "best-effort"] {
        let Outcome::Denied(denied) = injector.admit(hook, &review).await else { panic!("{hook}: denied") };
        assert_eq!((denied.code, &*denied.reason), (403, "Forbidden"));
        assert!(denied.message.contains("rule data cannot be applied"), "{}", denied.message);
    }
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_a_warning() {
    let injector = injector().await;
    let mut asked = pod("shop");
    asked["metadata"]["annotations"] = json!({"inject.vestibule.dev/asked": "maybe"});
    let review = Review::create(asked).build().unwrap();
    let allowed = injector.allowed("best-effort", &review).await;
    let said = "inject.vestibule.dev/asked of the object has a value that rule `asked` does not read: it reads `true`, `false`";
    assert!(allowed.warnings.shown[0].ends_with(said), "{:?}", allowed.warnings.shown);
}

#[tokio::test]
async fn deployments_are_changed_also_when_they_are_updated() {
    let injector = injector().await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}}});
    let review = Review::update(deployment.clone(), deployment.clone()).build().unwrap();
    let allowed = injector.allowed("best-effort", &review).await;
    assert_eq!(allowed.patch.unwrap()[0]["path"], "/spec/template/spec/containers/0/env");
    for untouched in [
        Review::delete(deployment),
        Review::create(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web"}}}),
        ),
        Review::update(pod("shop"), pod("shop")),
        Review::create(pod("kube-system")),
    ] {
        let allowed = injector.allowed("best-effort", &untouched.build().unwrap()).await;
        assert!(allowed.patch.is_none());
    }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl DecisionObserver for Recorder {
    fn decided(&self, decision: &Decision, _: &DecisionContext<'_>) {
        let origins = decision.changes().iter().map(|change| change.origin.to_string());
        self.0.lock().unwrap().extend(origins);
    }
}

#[tokio::test]
async fn the_observer_gets_the_origin_of_each_change() {
    let recorder = Arc::new(Recorder::default());
    let observer = Arc::clone(&recorder);
    let app =
        observed_app(rules(RULES), Namespaces::unknown(), observer).unwrap_or_else(|error| panic!("{error}"));
    let injector = TestInjector::start(app).await;
    injector.admit("best-effort", &Review::create(pod("shop")).build().unwrap()).await;
    let origins = recorder.0.lock().unwrap();
    let clauses = ["rule data, volumes", "rule target, containerPatches[0].env", "status"];
    assert_eq!(origins.len(), clauses.len());
    for (origin, clause) in origins.iter().zip(clauses) {
        assert!(origin.contains(clause), "{origin}");
    }
}

/// Rules of namespaces fail open, so only the hook that fails open has them.
#[tokio::test]
async fn rules_of_namespaces_are_applied_by_the_best_effort_hook_alone() {
    let text = "\
{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: s}, spec: {namespacedInjections: {allowedParts: [labels]}}}
---
{apiVersion: vestibule.dev/v1alpha1, kind: NamespacedInjection, metadata: {name: team, namespace: shop}, spec: {pod: {labels: {team: blue}}}}
";
    let injector = fixture::injector(rules(text), Namespaces::unknown()).await;
    let review = Review::create(pod("shop")).build().unwrap();
    assert!(injector.allowed("required", &review).await.patch.is_none());
    let allowed = injector.allowed("best-effort", &review).await;
    assert_eq!(allowed.object.unwrap()["metadata"]["labels"]["team"], "blue");
    assert_eq!(
        allowed.audit_annotations.kept.get("best-effort/rules").map(String::as_str),
        Some("shop/team")
    );
    let page = injector.page("/metrics").await;
    assert!(page.contains(r#"rule="shop/team",result="applied""#), "{page}");
    let elsewhere = Review::create(pod("stop")).build().unwrap();
    assert!(injector.allowed("best-effort", &elsewhere).await.patch.is_none());
}
