//! Rows 34 to 50: the fields of reviews.

use std::fs;
use std::path::Path;

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_caller::{ApiResource, Hook, Review, ReviewBuilder, ReviewVersion};

use crate::client::Client;
use crate::conversations::{VERSIONS, allowed, annotated, pod, review};
use crate::names::with_name;
use crate::process::{Process, shared};

/// A description of a defect, and the function that makes it.
type Defect = (&'static str, fn(&mut Value));

const SEE: &str = "/validate/see";

async fn seen(review: ReviewBuilder) -> Vec<String> {
    let see = Hook::validating("see", SEE);
    allowed(shared().outcome(&review.build().unwrap(), &see).await).warnings.shown
}

#[tokio::test]
async fn row_34_each_operation_comes_with_its_own_nulls() {
    let exec = json!({"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true, "container": "app"});
    for version in VERSIONS {
        let reviews = [
            (review(pod()), ["operation CREATE", "object there", "oldObject null", "options there"]),
            (
                Review::update(pod(), pod()),
                ["operation UPDATE", "object there", "oldObject there", "options there"],
            ),
            (Review::delete(pod()), ["operation DELETE", "object null", "oldObject there", "options there"]),
            (
                Review::connect(exec.clone(), ApiResource::built_in("v1", "Pod").unwrap(), "web", "exec"),
                ["operation CONNECT", "object there", "oldObject null", "options null"],
            ),
        ];
        for (review, expected) in reviews {
            let seen = seen(review.version(version)).await;
            for words in expected {
                assert!(seen.iter().any(|line| line == words), "no `{words}` in {seen:?}");
            }
        }
        let guard = Hook::validating("guard", "/validate/guard");
        let gone = Review::delete(pod()).version(version).build().unwrap();
        allowed(shared().outcome(&gone, &guard).await);
    }
}

/// Every recorded review of a real API server gets a decision.
#[tokio::test]
async fn row_34_every_recorded_review_is_answered() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut client = Client::connect(shared()).await;
    let mut answered = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let body = fs::read(&path).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let response = client.post(SEE, body).await.response();
            assert_eq!(
                (&response["uid"], &response["allowed"]),
                (&asked["request"]["uid"], &json!(true)),
                "{path:?}"
            );
            answered += 1;
        }
    }
    assert!(answered > 30);
}

#[tokio::test]
async fn row_36_an_object_without_a_name_is_logged_by_its_prefix() {
    for version in VERSIONS {
        let mut object = pod();
        object["metadata"] = json!({"generateName": "prefix-", "namespace": "demo"});
        let uid = format!("row-36-{}", version.api_version().replace('/', "-"));
        let review = review(object).version(version).uid(&uid).build().unwrap();
        assert!(!String::from_utf8_lossy(review.body()).contains(r#""name":"""#));
        allowed(shared().outcome(&review, &Hook::mutating("label", "/mutate/label")).await);
        let line: Value = serde_json::from_str(&shared().said(&uid)).unwrap();
        assert_eq!(line["name"], "prefix-*****");
    }
}

#[tokio::test]
async fn row_38_subresources_are_untouched_by_a_handler_for_the_resource() {
    let built_in = |version, kind| ApiResource::built_in(version, kind).unwrap();
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 1}});
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}});
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "web"}});
    // The handler panics if it runs.
    let panics = Hook::mutating("panic", "/mutate/panic");
    for version in VERSIONS {
        for review in [
            Review::update(pod(), pod()).subresource("status"),
            Review::create(eviction.clone()).resource(built_in("v1", "Pod")).subresource("eviction"),
            Review::update(scale.clone(), scale.clone())
                .resource(built_in("apps/v1", "Deployment"))
                .subresource("scale"),
            Review::create(token.clone()).resource(built_in("v1", "ServiceAccount")).subresource("token"),
        ] {
            let review = review.namespace("demo").version(version).build().unwrap();
            assert!(allowed(shared().outcome(&review, &panics).await).patch.is_none());
        }
        // A wrong resource was registered by mistake: the answer says so, and the handler does not run.
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}});
        let service = review(service).version(version).build().unwrap();
        let reply = Client::connect(shared()).await.review("/mutate/panic", &service).await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(reply.body.contains("is not what this hook is for"), "{}", reply.body);
    }
}

#[tokio::test]
async fn row_39_unknown_members_are_tolerated() {
    for version in VERSIONS {
        let body = review(pod()).version(version).uid("39").build().unwrap();
        let mut body: Value = serde_json::from_slice(body.body()).unwrap();
        body["next"] = json!({"version": 2});
        body["response"] = json!({"uid": ""});
        body["request"]["next"] = json!([1]);
        body["request"]["userInfo"]["next"] = json!(null);
        body["request"]["kind"]["next"] = json!("x");
        body["request"]["object"]["spec"]["next"] = json!({"deep": {"er": []}});
        let mut client = Client::connect(shared()).await;
        let response = client.post("/mutate/same", body.to_string()).await.response();
        assert_eq!(response, json!({"uid": "39", "allowed": true}));
    }
}

#[tokio::test]
async fn row_40_nothing_is_allowed_by_accident() {
    let mut client = Client::connect(shared()).await;
    let whole = VERSIONS.map(|version| -> Value {
        serde_json::from_slice(review(pod()).version(version).build().unwrap().body()).unwrap()
    });
    let damage: [Defect; 8] = [
        ("an unknown operation", |body| body["request"]["operation"] = json!("PATCH")),
        ("an operation in small letters", |body| body["request"]["operation"] = json!("create")),
        ("no user", |body| drop(body["request"].as_object_mut().unwrap().remove("userInfo"))),
        ("no request", |body| drop(body.as_object_mut().unwrap().remove("request"))),
        ("a null request", |body| body["request"] = Value::Null),
        ("no uid", |body| drop(body["request"].as_object_mut().unwrap().remove("uid"))),
        ("another kind", |body| body["kind"] = json!("ConversionReview")),
        ("another version", |body| body["apiVersion"] = json!("admission.k8s.io/v2")),
    ];
    for path in ["/mutate/label", "/validate/guard", SEE] {
        for (what, damage) in damage {
            for mut body in whole.clone() {
                damage(&mut body);
                let reply = client.post(path, body.to_string()).await;
                assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{what}: {}", reply.body);
                assert!(reply.is_short_text(), "{what}: {}", reply.body);
            }
        }
    }
}

#[tokio::test]
async fn row_41_the_handler_sees_the_requested_kind_and_the_converted_one() {
    for version in VERSIONS {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        let older = ApiResource::namespaced("extensions/v1beta1", "Deployment", "deployments");
        let seen = seen(review(deployment).requested_as(older).version(version)).await;
        for words in ["kind apps/v1 Deployment", "requestKind extensions/v1beta1 Deployment"] {
            assert!(seen.iter().any(|line| line == words), "{seen:?}");
        }
    }
}

#[tokio::test]
async fn row_42_the_answer_has_the_version_of_the_request() {
    let mut client = Client::connect(shared()).await;
    for path in ["/mutate/same", "/mutate/label", "/mutate/refuse", "/validate/guard", SEE] {
        for version in VERSIONS {
            let reply = client.review(path, &review(pod()).version(version).build().unwrap()).await;
            assert_eq!(reply.json()["apiVersion"], version.api_version());
        }
    }
}

#[tokio::test]
async fn row_46_a_dry_run_has_no_side_effect() {
    let effects = async |review: ReviewBuilder| {
        let hook = Hook::mutating("effects", "/mutate/effects");
        let object = allowed(shared().outcome(&review.build().unwrap(), &hook).await).object.unwrap();
        object["metadata"]["annotations"]["effects"].as_str().unwrap().parse::<usize>().unwrap()
    };
    let before = effects(review(pod())).await;
    for version in VERSIONS {
        assert_eq!(effects(review(pod()).dry_run().version(version)).await, before);
    }
    assert_eq!(effects(review(pod())).await, before + 1);
}

#[tokio::test]
async fn row_48_a_repeated_object_gets_the_same_decision_under_its_own_uid() {
    let mut client = Client::connect(shared()).await;
    for path in ["/mutate/label", "/mutate/refuse", "/validate/guard", "/validate/causes"] {
        let mut decisions = Vec::new();
        for (uid, version) in ["one", "two", "three", "four"].into_iter().zip(VERSIONS.repeat(2)) {
            let review = review(pod()).uid(uid).version(version).build().unwrap();
            let mut response = client.review(path, &review).await.response();
            assert_eq!(response["uid"].take(), uid);
            decisions.push(response);
        }
        assert!(decisions.iter().all(|decision| *decision == decisions[0]), "{path}");
    }
}

#[tokio::test]
async fn row_49_without_a_change_there_is_neither_patch_nor_patch_type() {
    let mut client = Client::connect(shared()).await;
    for (path, object) in [("/mutate/same", pod()), ("/mutate/patch", annotated(json!({"patch": "[]"})))] {
        for version in VERSIONS {
            let review = review(object.clone()).version(version).uid("49").build().unwrap();
            let response = client.review(path, &review).await.response();
            assert_eq!(response, json!({"uid": "49", "allowed": true}));
        }
    }
}

#[tokio::test]
async fn row_50_a_uid_comes_back_byte_by_byte() {
    let mut client = Client::connect(shared()).await;
    for version in [ReviewVersion::V1, ReviewVersion::V1Beta1] {
        for uid in ["a\"b\\c", "ü—\u{1f6aa}", "\u{1}\u{7f}\n", "<&>\u{2028}", " ", &"x".repeat(1 << 20)] {
            let review = review(pod()).version(version).uid(uid).build().unwrap();
            for path in ["/mutate/same", "/mutate/label", "/mutate/refuse"] {
                assert_eq!(client.review(path, &review).await.response()["uid"], uid);
            }
        }
        // Without a uid there can be no answer.
        let none =
            client.review("/mutate/same", &review(pod()).version(version).uid("").build().unwrap()).await;
        assert_eq!(none.status, StatusCode::BAD_REQUEST);
        assert!(none.is_short_text() && none.body.contains("uid"), "{}", none.body);
    }
}

/// Every name that may be in a log, with a length of one MiB.
#[tokio::test]
async fn row_50_no_name_makes_a_log_line_long() {
    const LONGEST: usize = 8 << 10;
    let server = Process::start(&[], &[("RUST_LOG", "debug")]);
    let mut client = Client::connect(&server).await;
    let huge = "x".repeat(1 << 20);
    let places = [
        "/request/uid",
        "/request/name",
        "/request/namespace",
        "/request/subResource",
        "/request/kind/kind",
        "/request/resource/resource",
        "/request/userInfo/username",
        "/request/object/metadata/name",
        "/request/object/metadata/generateName",
    ];
    for place in places {
        let body = with_name(review(pod()).build().unwrap().body(), place, &huge);
        let uid = body["request"]["uid"].clone();
        for path in ["/mutate/same", "/mutate/label", "/mutate/refuse", "/mutate/fail", "/mutate/panic"] {
            let reply = client.post(path, body.to_string()).await;
            if reply.status == StatusCode::OK {
                assert_eq!(reply.response()["uid"], uid, "{place} {path}");
            } else {
                assert!(reply.is_short_text(), "{place} {path}");
            }
        }
    }
    let log = server.whole_log();
    assert!(log.matches("decided").count() >= places.len(), "the log has the decisions: {log:.1000}");
    let longest = log.lines().max_by_key(|line| line.len()).unwrap();
    assert!(longest.len() <= LONGEST, "{} bytes: {longest:.1000}", longest.len());
}
