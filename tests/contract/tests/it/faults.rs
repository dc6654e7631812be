//! Rows 53, 54 and 71: errors and panics are no decisions.

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_caller::{Admission, FailurePolicy, Hook, Review};

use crate::client::Client;
use crate::conversations::{VERSIONS, annotated, denied, failed, pod, review};
use crate::process::{Process, shared};

#[tokio::test]
async fn row_53_an_error_is_500_and_the_failure_policy_decides() {
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let reply = Client::connect(shared()).await.review("/mutate/fail", &review).await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(reply.is_short_text() && reply.body.contains("the lookup failed"), "{}", reply.body);

        let (caller, fail) = (shared().caller(), Hook::mutating("fail", "/mutate/fail"));
        match caller.admit(&review, &fail, FailurePolicy::Ignore).await.unwrap() {
            Admission::Admitted { object, failed_open: Some(_), .. } => {
                assert_eq!(object.as_ref(), review.object());
            }
            _ => panic!("an error is no denial"),
        }
        // Unless the hook turns its faults into denials.
        let denies = Hook::mutating("fail-denies", "/mutate/fail-denies");
        assert_eq!(denied(shared().outcome(&review, &denies).await).code, 500);
    }
}

#[tokio::test]
async fn row_54_a_panic_is_500_and_other_calls_continue() {
    let server = Process::start(&[], &[]);
    let mut client = Client::connect(&server).await;
    for (version, panics) in VERSIONS.into_iter().zip([1.0, 2.0]) {
        let review = review(pod()).version(version).build().unwrap();
        let reply = client.review("/mutate/panic", &review).await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(reply.is_short_text() && !reply.body.contains("cannot handle"), "{}", reply.body);
        let counted = r#"vestibule_admission_requests_total{webhook="panic",operation="CREATE",decision="fault",reason="panic"}"#;
        assert_eq!(server.metric(counted), panics);
        assert_eq!(client.review("/mutate/same", &review).await.response()["allowed"], true);
    }
}

#[tokio::test]
async fn row_71_a_patch_that_the_api_server_would_refuse_is_not_sent() {
    let wish = |operations: Value| annotated(json!({"patch": operations.to_string()}));
    let replace = |path: &str| wish(json!([{"op": "replace", "path": path, "value": "other"}]));
    let elsewhere = Review::create;
    let cases = [
        ("/mutate/move", elsewhere(pod()), "metadata.namespace"),
        ("/mutate/rename", elsewhere(pod()), "metadata.uid"),
        ("/mutate/patch", elsewhere(replace("/apiVersion")), "apiVersion"),
        ("/mutate/patch", elsewhere(replace("/kind")), "kind"),
        ("/mutate/patch", elsewhere(replace("/metadata/namespace")), "metadata.namespace"),
        (
            "/mutate/patch",
            elsewhere(wish(json!([{"op": "add", "path": "/metadata/uid", "value": "x"}]))),
            "metadata.uid",
        ),
        ("/mutate/patch", elsewhere(wish(json!([{"op": "remove", "path": "/nothing"}]))), "/nothing"),
        ("/mutate/patch", elsewhere(wish(json!([{"op": "add", "path": "/a/b", "value": 1}]))), "/a/b"),
        ("/mutate/patch", Review::delete(wish(json!([{"op": "add", "path": "/a", "value": 1}]))), "DELETE"),
    ];
    for (path, review, names) in cases {
        for version in VERSIONS {
            let review = review.clone().namespace("demo").version(version).build().unwrap();
            let hook = Hook::mutating("hook", path);
            let said = failed(shared().outcome(&review, &hook).await);
            // The API server can only ignore a response without a patch.
            assert!(said.ignorable, "{path}: {}", said.message);
            assert!(
                said.message.contains(names) && said.message.contains("invalid JSON patch, not sent"),
                "{}",
                said.message
            );
        }
    }
}
