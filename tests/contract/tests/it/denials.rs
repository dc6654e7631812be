//! Rows 51, 56 to 61: denials, warnings and audit annotations.

use serde_json::json;
use vestibule_caller::{Hook, Review};

use crate::client::Client;
use crate::conversations::{VERSIONS, allowed, denied, pod, review};
use crate::process::shared;

#[tokio::test]
async fn row_51_a_denial_is_200_with_code_and_reason() {
    let mut client = Client::connect(shared()).await;
    for version in VERSIONS {
        let review = review(pod()).version(version).uid("51").build().unwrap();
        let response = client.review("/mutate/refuse", &review).await.response();
        assert_eq!(response["allowed"], false);
        let status = &response["status"];
        assert_eq!((&status["code"], &status["reason"]), (&json!(403), &json!("Forbidden")));
        let refuse = Hook::mutating("refuse.demo", "/mutate/refuse");
        let said = denied(shared().outcome(&review, &refuse).await);
        assert_eq!((said.code, &*said.reason), (403, "Forbidden"));
        assert_eq!(said.message, r#"admission webhook "refuse.demo" denied the request: no pods today"#);
    }
}

#[tokio::test]
async fn row_56_causes_pass_through() {
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let said = denied(shared().outcome(&review, &Hook::validating("causes", "/validate/causes")).await);
        assert_eq!((said.code, &*said.reason), (422, "Invalid"));
        let fields: Vec<_> = said.causes.iter().map(|cause| (&*cause.field, &*cause.message)).collect();
        assert_eq!(
            fields,
            [("spec.containers[0].image", "name a version"), ("metadata.labels", "at least one")]
        );
        assert_eq!(said.warnings.shown, ["look at the fields"]);
    }
}

#[tokio::test]
async fn row_57_a_handler_may_ask_the_user_to_retry() {
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let said = denied(shared().outcome(&review, &Hook::validating("later", "/validate/later")).await);
        assert_eq!((said.code, said.retry_after_seconds), (429, Some(7)));
    }
}

#[tokio::test]
async fn row_59_warnings_reach_the_user_and_annotations_the_audit_log() {
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let said = allowed(shared().outcome(&review, &Hook::validating("notes", "/validate/notes")).await);
        assert_eq!(said.warnings.shown, ["two", "lines"]);
        assert!(said.warnings.dropped.is_empty() && said.audit_annotations.dropped.is_empty());
        let kept: Vec<_> = said.audit_annotations.kept.keys().map(String::as_str).collect();
        assert_eq!(
            kept,
            ["notes/example.com-with-space", "notes/plain", &format!("notes/{}", "x".repeat(63))]
        );
    }
}

#[tokio::test]
async fn row_60_a_validating_hook_never_sends_a_patch() {
    let mut client = Client::connect(shared()).await;
    let mut labelled = pod();
    labelled["metadata"]["labels"] = json!({"forbidden": "yes"});
    for version in VERSIONS {
        let make = |object| review(object).version(version).build().unwrap();
        let gone = Review::delete(labelled.clone()).version(version).build().unwrap();
        for (path, review, allowed) in [
            ("/validate/guard", make(pod()), true),
            ("/validate/guard", make(labelled.clone()), false),
            ("/validate/guard", gone, false),
            ("/validate/causes", make(pod()), false),
            ("/validate/notes", make(pod()), true),
            ("/validate/see", make(pod()), true),
        ] {
            let response = client.review(path, &review).await.response();
            assert_eq!(response["allowed"], allowed, "{path}");
            assert!(response.get("patch").is_none() && response.get("patchType").is_none(), "{path}");
        }
    }
}

#[tokio::test]
async fn row_61_a_mutating_hook_that_denies_sends_no_patch() {
    let mut client = Client::connect(shared()).await;
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let response = client.review("/mutate/refuse", &review).await.response();
        assert_eq!(response["allowed"], false);
        assert!(response.get("patch").is_none() && response.get("patchType").is_none());
    }
}
