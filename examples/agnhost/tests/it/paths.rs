//! The answers of each path, in a table.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vestibule_caller::{ApiResource, Hook, Outcome, Review, ReviewBuilder, ReviewVersion};

use crate::process::Process;

const VERSIONS: [ReviewVersion; 2] = [ReviewVersion::V1, ReviewVersion::V1Beta1];
const DISALLOW: &str = "webhook-disallow";

/// The result of an answer in kube-apiserver.
enum Expected {
    /// Nothing changes.
    Allowed,
    /// The value at this pointer afterwards.
    Changed(&'static str, Value),
    /// A denial with this code and this text after `denied the request: `.
    Denied(i32, &'static str),
}

use Expected::{Allowed, Changed, Denied};

fn pod(name: &str, labels: &Value, container: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels, "x-unknown": 1},
           "spec": {"containers": [{"name": container, "image": "nginx", "x-unknown": 1}]}})
}

fn labelled(value: &str) -> Value {
    pod("web", &json!({"webhook-e2e-test": value}), "app")
}

fn plain() -> Value {
    pod("web", &json!({}), "app")
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn custom(data: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "data": data})
}

fn definition(version: &str, value: &str) -> ReviewBuilder {
    let api_version = format!("apiextensions.k8s.io/{version}");
    let object = json!({"apiVersion": api_version, "kind": "CustomResourceDefinition", "spec": {},
                        "metadata": {"name": "a.b", "labels": {"webhook-e2e-test": value}}});
    let kind = "CustomResourceDefinition";
    Review::create(object).resource(ApiResource::cluster_scoped(
        &api_version,
        kind,
        "customresourcedefinitions",
    ))
}

fn thing(review: ReviewBuilder) -> ReviewBuilder {
    review.resource(ApiResource::namespaced("example.com/v1", "Thing", "things"))
}

fn attach(name: &str, stdin: bool, container: &str) -> ReviewBuilder {
    let options =
        json!({"apiVersion": "v1", "kind": "PodAttachOptions", "stdin": stdin, "container": container});
    Review::connect(options, ApiResource::built_in("v1", "Pod").unwrap(), name, "attach")
}

fn table() -> Vec<(&'static str, ReviewBuilder, Expected)> {
    let unwanted = |value: &str| json!({"webhook-e2e-test": value});
    let (disallow, nondeletable) = (unwanted(DISALLOW), unwanted("webhook-nondeletable"));
    let bad_map = || config_map(&disallow);
    let bad_thing = || custom(&disallow);
    let with_init = json!([{"name": "webhook-added-init-container", "image": "webhook-added-image"}]);
    let mut mutated = pod("webhook-to-be-mutated", &json!({}), "app");
    mutated["spec"]["initContainers"] = with_init.clone();
    let sidecar = json!({"name": "webhook-added-sidecar", "image": "example.org/sidecar"});
    let mut with_sidecar = plain();
    with_sidecar["spec"]["containers"].as_array_mut().unwrap().push(sidecar.clone());
    let both = "the pod contains unwanted label; the pod contains unwanted container name;";
    let map_reason = "the configmap contains unwanted key and value";
    let map_delete = "the configmap cannot be deleted because it contains unwanted key and value";
    let thing_reason = "the custom resource contains unwanted data";
    let thing_delete = "the custom resource cannot be deleted because it contains unwanted key and value";
    let denies_all = || Denied(403, "this webhook denies all requests");
    let (start, one) =
        (json!({"mutation-start": "yes"}), json!({"mutation-start": "yes", "mutation-stage-1": "yes"}));
    let label = "/metadata/labels/added-label";
    let (first, second) = ("/data/mutation-stage-1", "/data/mutation-stage-2");
    vec![
        ("/always-deny", Review::create(plain()), denies_all()),
        ("/always-deny", Review::delete(config_map(&json!({}))), denies_all()),
        ("/always-deny", attach("web", true, "app"), denies_all()),
        ("/add-label", thing(Review::create(custom(&json!({})))), Changed(label, json!("yes"))),
        ("/add-label", Review::create(labelled("x")), Changed(label, json!("yes"))),
        (
            "/add-label",
            Review::create(pod("web", &json!({"added-label": "no"}), "a")),
            Changed(label, json!("yes")),
        ),
        ("/add-label", Review::create(pod("web", &json!({"added-label": "yes"}), "a")), Allowed),
        ("/pods", Review::create(plain()), Allowed),
        ("/pods", Review::create(labelled(DISALLOW)), Denied(403, "the pod contains unwanted label;")),
        ("/pods", Review::create(pod("web", &unwanted(DISALLOW), "a-webhook-disallow-b")), Denied(403, both)),
        (
            "/pods",
            Review::update(labelled("x"), labelled(DISALLOW)),
            Denied(403, "the pod contains unwanted label;"),
        ),
        (
            "/pods/attach",
            attach("to-be-attached-pod", true, "container1"),
            Denied(403, "attaching to pod 'to-be-attached-pod' is not allowed"),
        ),
        ("/pods/attach", attach("to-be-attached-pod", false, "container1"), Allowed),
        ("/pods/attach", attach("to-be-attached-pod", true, "container2"), Allowed),
        ("/pods/attach", attach("other", true, "container1"), Allowed),
        ("/mutating-pods", Review::create(plain()), Allowed),
        (
            "/mutating-pods",
            Review::create(pod("webhook-to-be-mutated", &json!({}), "app")),
            Changed("/spec/initContainers", with_init),
        ),
        ("/mutating-pods", Review::create(mutated), Allowed),
        ("/mutating-pods-sidecar", Review::create(plain()), Changed("/spec/containers/1", sidecar)),
        ("/mutating-pods-sidecar", Review::create(with_sidecar), Allowed),
        ("/configmaps", Review::create(bad_map()), Denied(403, map_reason)),
        ("/configmaps", Review::update(config_map(&json!({})), bad_map()), Denied(403, map_reason)),
        ("/configmaps", Review::delete(bad_map()), Allowed),
        ("/configmaps", Review::delete(config_map(&nondeletable)), Denied(403, map_delete)),
        ("/configmaps", Review::create(config_map(&nondeletable)), Allowed),
        ("/mutating-configmaps", Review::create(config_map(&json!({"a": "b"}))), Allowed),
        ("/mutating-configmaps", Review::create(config_map(&start)), Changed(first, json!("yes"))),
        ("/mutating-configmaps", Review::create(config_map(&one)), Changed(second, json!("yes"))),
        ("/custom-resource", thing(Review::create(bad_thing())), Denied(403, thing_reason)),
        (
            "/custom-resource",
            thing(Review::update(custom(&json!({})), bad_thing())),
            Denied(403, thing_reason),
        ),
        ("/custom-resource", thing(Review::delete(custom(&nondeletable))), Denied(403, thing_delete)),
        ("/custom-resource", thing(Review::delete(bad_thing())), Allowed),
        ("/mutating-custom-resource", thing(Review::create(custom(&start))), Changed(first, json!("yes"))),
        ("/mutating-custom-resource", thing(Review::create(custom(&one))), Changed(second, json!("yes"))),
        ("/crd", definition("v1", DISALLOW), Denied(403, "the crd contains unwanted label")),
        ("/crd", definition("v1beta1", DISALLOW), Denied(403, "the crd contains unwanted label")),
        ("/crd", definition("v1", "fine"), Allowed),
    ]
}

fn hook(path: &str) -> Hook {
    if path.starts_with("/mutating") || path == "/add-label" {
        Hook::mutating("e2e.example.com", path)
    } else {
        Hook::validating("e2e.example.com", path)
    }
}

#[tokio::test]
async fn every_path_answers_in_both_versions() {
    let process = Process::start(&["--sidecar-image", "example.org/sidecar"]);
    for (number, (path, review, expected)) in table().into_iter().enumerate() {
        for version in VERSIONS {
            let row = format!("row {number}: {path}, {version:?}");
            let review = review.clone().version(version).build().unwrap();
            match (process.outcome(&review, &hook(path)).await, &expected) {
                (Outcome::Allowed(allowed), Allowed) => assert_eq!(allowed.patch, None, "{row}"),
                (Outcome::Allowed(allowed), Changed(pointer, value)) => {
                    let object = allowed.object.unwrap();
                    assert_eq!(object.pointer(pointer), Some(value), "{row}");
                    let unknown = |object: &Value| object.pointer("/metadata/x-unknown").cloned();
                    assert_eq!(unknown(&object), unknown(review.object().unwrap()), "{row}");
                }
                (Outcome::Denied(denied), Denied(code, words)) => {
                    assert_eq!(denied.code, *code, "{row}");
                    assert!(
                        denied.message.ends_with(&format!("denied the request: {words}")),
                        "{row}: {denied:?}"
                    );
                }
                (Outcome::Failed(failed), _) => panic!("{row}: {failed:?}"),
                _ => panic!("{row}: another outcome"),
            }
        }
    }
}

#[tokio::test]
async fn a_pod_that_waits_for_ever_times_out_and_a_delay_is_waited_for() {
    let process = Process::start(&[]);
    for version in VERSIONS {
        let review = Review::create(labelled("wait-forever")).version(version).build().unwrap();
        let waits = hook("/pods").timeout(Duration::from_secs(5));
        let Outcome::Failed(failed) = process.outcome(&review, &waits).await else { panic!("an answer") };
        assert!(format!("{failed:?}").contains("deadline"), "{failed:?}");
    }
    let began = Instant::now();
    let delayed = VERSIONS.map(|version| Review::create(plain()).version(version).build().unwrap());
    let slow = hook("/always-allow-delay-5s");
    let outcomes = tokio::join!(process.outcome(&delayed[0], &slow), process.outcome(&delayed[1], &slow));
    assert!(matches!(outcomes, (Outcome::Allowed(_), Outcome::Allowed(_))));
    assert!(began.elapsed() >= Duration::from_secs(5));
}

#[tokio::test]
async fn without_an_image_there_is_no_sidecar() {
    let process = Process::start(&[]);
    for version in VERSIONS {
        let review = Review::create(plain()).version(version).build().unwrap();
        let outcome = process.outcome(&review, &hook("/mutating-pods-sidecar")).await;
        let Outcome::Denied(denied) = outcome else { panic!("not denied") };
        assert_eq!(denied.code, 500);
        assert!(denied.message.contains("No image specified by the sidecar-image parameter"), "{denied:?}");
    }
}
