//! Rows 82 to 84: conversions of custom resources.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::Client;
use crate::process::shared;

const PATHS: [&str; 2] = ["/convert/gadgets", "/convert/raw-gadgets"];

/// Sends the objects in both versions of the review, checks version and uid of the answers, and returns the response.
async fn converted(path: &str, desired: &str, objects: &[Value]) -> Value {
    let mut first: Option<Value> = None;
    for version in ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"] {
        let body = json!({
            "kind": "ConversionReview", "apiVersion": version,
            "request": {"uid": "82", "desiredAPIVersion": desired, "objects": objects},
            // As kube-apiserver sends it.
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        });
        let reply =
            Client::connect(shared()).await.post(&format!("{path}?timeout=30s"), body.to_string()).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
        let (answer, response) = (reply.json(), reply.response());
        assert_eq!((&answer["apiVersion"], &answer["kind"]), (&json!(version), &json!("ConversionReview")));
        assert_eq!(response["uid"], "82");
        if let Some(first) = &first {
            assert_eq!(&response, first);
        }
        first = Some(response);
    }
    first.unwrap()
}

fn gadget(version: &str, name: &str, size: impl Into<Value>) -> Value {
    json!({
        "apiVersion": format!("contract.example/{version}"), "kind": "Gadget",
        "metadata": {"name": name, "namespace": "demo", "uid": name, "labels": {"x": name}, "generation": 7},
        "spec": {"size": size.into()},
    })
}

#[tokio::test]
async fn row_82_order_count_and_metadata_are_kept() {
    let given = [gadget("v1", "a", "1"), gadget("v2", "b", 2), gadget("v1", "c", "3")];
    for path in PATHS {
        let response = converted(path, "contract.example/v2", &given).await;
        assert_eq!(response["result"]["status"], "Success");
        let expected = [gadget("v2", "a", 1), gadget("v2", "b", 2), gadget("v2", "c", 3)];
        assert_eq!(response["convertedObjects"], json!(expected));
    }
}

#[tokio::test]
async fn row_83_an_object_that_cannot_be_converted_is_named_with_the_reason() {
    let given = [gadget("v1", "a", "1"), gadget("v1", "b", "secret")];
    for path in PATHS {
        let response = converted(path, "contract.example/v2", &given).await;
        assert_eq!(response["result"]["status"], "Failure");
        let message = response["result"]["message"].as_str().unwrap();
        assert!(message.contains("demo/b") && message.contains("spec.size is no number"), "{message}");
        assert!(!message.contains("secret") && none(&response), "{response}");
    }
    let panics = converted(PATHS[0], "contract.example/v2", &[gadget("v1", "a", "panic")]).await;
    let message = panics["result"]["message"].as_str().unwrap();
    assert!(message.contains("panicked") && !message.contains("cannot convert"), "{message}");
}

#[tokio::test]
async fn row_84_an_unknown_version_fails_the_whole_review() {
    let given = [gadget("v1", "a", "1"), gadget("v2", "b", 2)];
    for path in PATHS {
        for desired in ["contract.example/v9", "other.example/v2", ""] {
            let response = converted(path, desired, &given).await;
            assert_eq!(response["result"]["status"], "Failure");
            assert!(none(&response), "{response}");
        }
    }
}

/// Whether the response has no objects.
fn none(response: &Value) -> bool {
    response["convertedObjects"].as_array().is_none_or(Vec::is_empty)
}
