use std::convert::Infallible;

use http::Response;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use std::time::Duration;

use tokio::time::Instant;
use vestibule_rules::RuleSet;

use super::*;

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: team}
spec:
  match: {namespaceSelector: {matchLabels: {team: blue}}}
  pod: {labels: {team: blue}}
";

fn rules() -> RuleSet {
    crate::compile([("rules.yaml", RULES)]).unwrap_or_else(|findings| panic!("{findings:?}"))
}

fn handler(namespaces: Namespaces) -> InjectHandler {
    InjectHandler::new(Configuration::fixed(rules()), false, namespaces, Arc::default(), Arc::new([]))
}

/// A request to create a pod with the status annotation of rules of this hash.
fn request(hash: &str) -> String {
    json!({
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": "fresh",
        "operation": "CREATE", "userInfo": {"username": "alice"},
        "object": {"metadata": {"name": "web", "annotations": {STATUS_ANNOTATION: json!({"cfg": hash}).to_string()}},
                   "spec": {"containers": [{"name": "app", "image": "nginx"}]}},
    })
    .to_string()
}

/// Returns whether the pod was changed, and the duration of the call.
async fn call(handler: &InjectHandler, request: &str, budget: Duration) -> (bool, Duration) {
    let (request, began): (Request<'_>, _) = (serde_json::from_str(request).unwrap(), Instant::now());
    let deadline = began + budget;
    let verdict = timeout_at(deadline, handler.handle(&request, deadline.into_std())).await;
    let verdict = verdict.unwrap_or_else(|_| panic!("no verdict within {budget:?}"));
    let is_changed = match &verdict.outcome {
        vestibule::admission::Outcome::Mutated(patch) => !patch.is_empty(),
        _ => false,
    };
    (is_changed, began.elapsed())
}

/// A cluster that answers at once with the namespaces `listed`, but takes `delay` to read the namespace `fresh`.
async fn slow(delay: Duration, listed: Value) -> Namespaces {
    let answer = tower::service_fn(move |request: http::Request<Body>| {
        let listed = listed.clone();
        async move {
            let body = if request.uri().path().ends_with("/fresh") {
                tokio::time::sleep(delay).await;
                json!({"metadata": {"name": "fresh", "labels": {"team": "blue", "env": "prod"}}})
            } else if request.uri().query().unwrap_or_default().contains("watch=true") {
                std::future::pending().await
            } else {
                let metadata = json!({"resourceVersion": "7"});
                json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": listed})
            };
            Ok::<_, Infallible>(Response::new(Body::from(body.to_string().into_bytes())))
        }
    });
    let namespaces = Namespaces::watched(Client::new(answer, "default"));
    while !namespaces.as_watched().unwrap().namespaces.is_synced() {
        tokio::task::yield_now().await;
    }
    namespaces
}

/// The two waits each took a share of the whole budget: 0.7 s and 0.5 s of 1 s.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_twice_is_decided_before_the_deadline() {
    let handler = handler(slow(Duration::from_millis(700), json!([])).await);
    let (is_changed, took) = call(&handler, &request("0123456789ab"), Duration::from_secs(1)).await;
    assert!(is_changed && took < Duration::from_secs(1), "{took:?}");
}

/// Every pod of a Deployment whose template holds the status annotation of an old pod waited 2 s.
#[tokio::test(start_paused = true)]
async fn rules_that_did_not_come_are_waited_for_once() {
    let handler = handler(Namespaces::labelled([("team", "blue")]));
    let ask = async |hash: &str| call(&handler, &request(hash), Duration::from_secs(30)).await;
    assert_eq!(ask("0123456789ab").await, (true, Duration::from_secs(2)));
    assert_eq!(ask("0123456789ab").await, (true, Duration::ZERO));
    assert_eq!(ask("no hash of rules").await, (true, Duration::ZERO));
    // Another hash has a wait of its own.
    assert_eq!(ask("ba9876543210").await, (true, Duration::from_secs(2)));
}

/// A namespace has got the label of a required rule, and the watch has not reported the label yet. The API server knew the label and
/// called the hook. The handler did not apply the rule, and the pod started without it.
#[tokio::test(start_paused = true)]
async fn a_required_rule_applies_in_a_namespace_that_was_labelled_a_moment_before() {
    let other = "---\n{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {name: other}, spec: {optIn: pod, pod: {labels: {a: b}}}}\n";
    let of_deployments = "---\n{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {name: replicas}, spec: {required: true, targets: [deployments], match: {namespaceSelector: {matchLabels: {team: red}}}, pod: {labels: {a: b}}}}\n";
    let rules = RULES.replace("spec:", "spec:\n  required: true") + other + of_deployments;
    let rules = crate::compile([("rules.yaml", &*rules)]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let namespaces = slow(Duration::from_millis(10), json!([fresh(&json!({}))])).await;
    for is_required in [true, false] {
        let (configuration, pending) = (Configuration::fixed(rules.clone()), Arc::default());
        let handler =
            InjectHandler::new(configuration, is_required, namespaces.clone(), pending, Arc::new([]));
        let (is_changed, _) = call(&handler, &request(""), Duration::from_secs(1)).await;
        assert_eq!(is_changed, is_required);
    }
}

/// The same, with another required rule whose label the watch knows. The API server calls the hook for each of the two labels.
#[tokio::test(start_paused = true)]
async fn a_second_required_rule_applies_in_a_namespace_that_was_labelled_a_moment_before() {
    let first = "---\n{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {name: env}, spec: {required: true, match: {namespaceSelector: {matchLabels: {env: prod}}}, pod: {annotations: {env: prod}}}}\n";
    let rules = RULES.replace("spec:", "spec:\n  required: true") + first;
    let rules = crate::compile([("rules.yaml", &*rules)]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let namespaces = slow(Duration::from_millis(10), json!([fresh(&json!({"env": "prod"}))])).await;
    let handler =
        InjectHandler::new(Configuration::fixed(rules), true, namespaces, Arc::default(), Arc::new([]));
    // The first call has applied the rule that the watch knows to be for the namespace.
    let mut second: Value = serde_json::from_str(&request("")).unwrap();
    second["object"]["metadata"]["annotations"]["env"] = json!("prod");
    let (is_changed, _) = call(&handler, &second.to_string(), Duration::from_secs(1)).await;
    assert!(is_changed);
    // No call reads the namespace while a rule acts.
    let (is_changed, took) = call(&handler, &request(""), Duration::from_secs(1)).await;
    assert_eq!((is_changed, took), (true, Duration::ZERO));
}

/// The namespace `fresh` as the watch has it.
fn fresh(labels: &Value) -> Value {
    let metadata = json!({"name": "fresh", "resourceVersion": "7", "labels": labels});
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata})
}
