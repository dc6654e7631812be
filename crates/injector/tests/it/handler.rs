//! From a review to an answer.

use std::sync::{Arc, Mutex};

use serde_json::json;
use vestibule_caller::{Outcome, Review};
use vestibule_injector::{Asked, Namespaces, Observer, app, compile, observed_app};
use vestibule_rules::{Decision, RuleSet};

use crate::road::{Road, pod};

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: target}
spec:
  match: {objects: {labels: {app: web}}}
  containers: [{select: {all: true}, env: [{name: TARGET, value: hall}]}]
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
  match: {objects: {labels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: fleet}
spec:
  targets: [deployments]
  match: {objects: {labels: {app: web}}}
  containers: [{select: {all: true}, env: [{name: FLEET, value: \"1\"}]}]
";

fn rules() -> RuleSet {
    compile([("rules.yaml", RULES)]).unwrap_or_else(|findings| panic!("{findings:?}"))
}

async fn road() -> Road {
    Road::to(app(rules(), Namespaces::unknown()).unwrap_or_else(|error| panic!("{error}"))).await
}

/// Whichever hook an entry calls first, so that rules may change hands: the other finds everything done.
#[tokio::test]
async fn the_hook_that_is_called_first_does_everything() {
    let road = road().await;
    let review = Review::create(pod("shop")).build().unwrap();
    for (first, second) in [("required", "best-effort"), ("best-effort", "required")] {
        let Outcome::Allowed(allowed) = road.judged(first, &review).await else { panic!("allowed") };
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
        let Outcome::Allowed(allowed) = road.judged(second, &again).await else { panic!("allowed") };
        assert!(allowed.patch.is_none(), "{second}");
        // What was left alone is told by one of them.
        let skipped = [told[1].clone(), audit(second, &allowed.audit_annotations.kept)[1].clone()].concat();
        assert_eq!(skipped, "asked=not_opted_in", "{first}");
    }
}

#[tokio::test]
async fn a_hook_without_rules_is_answered_all_the_same() {
    let none = compile([]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let road = Road::to(app(none, Namespaces::unknown()).unwrap_or_else(|error| panic!("{error}"))).await;
    let review = Review::create(pod("shop")).build().unwrap();
    for hook in ["required", "best-effort"] {
        let Outcome::Allowed(allowed) = road.judged(hook, &review).await else { panic!("allowed") };
        assert!(allowed.patch.is_none());
    }
}

#[tokio::test]
async fn the_audit_log_hears_which_rules_acted_and_which_did_not() {
    let road = road().await;
    let review = Review::create(pod("shop")).build().unwrap();
    let Outcome::Allowed(allowed) = road.judged("best-effort", &review).await else { panic!("allowed") };
    let kept: Vec<_> = allowed.audit_annotations.kept.into_iter().collect();
    let hash = rules().hash().to_owned();
    let expected = [("config", hash.as_str()), ("rules", "data,target"), ("skipped", "asked=not_opted_in")];
    let expected = expected.map(|(key, value)| (format!("best-effort/{key}"), value.to_owned()));
    assert_eq!(kept, expected);
    assert!(allowed.audit_annotations.dropped.is_empty());
    // Under a key that is noted already kube-apiserver takes the same value only.
    let again = review.with_object(allowed.object.unwrap()).unwrap();
    let Outcome::Allowed(allowed) = road.judged("best-effort", &again).await else { panic!("allowed") };
    let again: Vec<_> = allowed.audit_annotations.kept.into_iter().collect();
    assert_eq!(again, [kept[0].clone(), kept[2].clone()]);
}

#[tokio::test]
async fn a_required_rule_that_cannot_act_denies() {
    let road = road().await;
    let mut taken = pod("shop");
    taken["spec"]["volumes"] = json!([{"name": "data", "hostPath": {"path": "/data"}}]);
    let review = Review::create(taken).build().unwrap();
    for hook in ["required", "best-effort"] {
        let Outcome::Denied(denied) = road.judged(hook, &review).await else { panic!("{hook}: denied") };
        assert_eq!((denied.code, &*denied.reason), (403, "Forbidden"));
        assert!(denied.message.contains("rule data cannot be applied"), "{}", denied.message);
    }
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_a_warning() {
    let road = road().await;
    let mut asked = pod("shop");
    asked["metadata"]["annotations"] = json!({"inject.vestibule.dev/asked": "maybe"});
    let review = Review::create(asked).build().unwrap();
    let Outcome::Allowed(allowed) = road.judged("best-effort", &review).await else { panic!("allowed") };
    let said = "inject.vestibule.dev/asked of the object has a value that rule `asked` does not read: it reads `true`, `false`";
    assert!(allowed.warnings.shown[0].ends_with(said), "{:?}", allowed.warnings.shown);
}

#[tokio::test]
async fn deployments_are_changed_also_when_they_are_updated() {
    let road = road().await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"template": {"spec": {"containers": [{"name": "app"}]}}}});
    let review = Review::update(deployment.clone(), deployment.clone()).build().unwrap();
    let Outcome::Allowed(allowed) = road.judged("best-effort", &review).await else { panic!("allowed") };
    assert_eq!(allowed.patch.unwrap()[0]["path"], "/spec/template/spec/containers/0/env");
    for untouched in [
        Review::delete(deployment),
        Review::create(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"app": "web"}}}),
        ),
        Review::update(pod("shop"), pod("shop")),
        Review::create(pod("kube-system")),
    ] {
        let Outcome::Allowed(allowed) = road.judged("best-effort", &untouched.build().unwrap()).await else {
            panic!("allowed")
        };
        assert!(allowed.patch.is_none());
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Observer for Heard {
    fn decided(&self, decision: &Decision, _: &Asked<'_>) {
        let origins = decision.changes().iter().map(|change| change.origin.to_string());
        self.0.lock().unwrap().extend(origins);
    }
}

#[tokio::test]
async fn the_observer_hears_where_each_change_comes_from() {
    let heard = Arc::new(Heard::default());
    let observer = Arc::clone(&heard);
    let app =
        observed_app(rules(), Namespaces::unknown(), observer).unwrap_or_else(|error| panic!("{error}"));
    let road = Road::to(app).await;
    road.judged("best-effort", &Review::create(pod("shop")).build().unwrap()).await;
    let heard = heard.0.lock().unwrap();
    let clauses = ["rule data, volumes", "rule target, containers[0].env", "status"];
    assert_eq!(heard.len(), clauses.len());
    for (heard, clause) in heard.iter().zip(clauses) {
        assert!(heard.contains(clause), "{heard}");
    }
}
