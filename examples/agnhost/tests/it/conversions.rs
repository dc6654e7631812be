//! `/crdconvert`, there and back.

use serde_json::{Value, json};

use crate::process::Process;

async fn convert(process: &Process, version: &str, desired: &str, object: &Value) -> Value {
    let request = json!({"uid": "u", "desiredAPIVersion": format!("stable.example.com/{desired}"), "objects": [object]});
    let api_version = format!("apiextensions.k8s.io/{version}");
    let review = json!({"apiVersion": api_version, "kind": "ConversionReview", "request": request});
    let (status, body) = process.exchange("POST", "/crdconvert?timeout=30s", &review.to_string()).await;
    assert_eq!(status, "HTTP/1.1 200 OK", "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["apiVersion"], *api_version);
    assert_eq!(answer["response"]["uid"], "u");
    answer["response"].clone()
}

fn object(version: &str, members: &Value) -> Value {
    let mut object = json!({"apiVersion": format!("stable.example.com/{version}"), "kind": "Crd",
                            "metadata": {"name": "a", "uid": "1"}, "other": 1.50});
    object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    object
}

#[tokio::test]
async fn host_and_port_are_one_or_two() {
    let process = Process::start(&[]);
    let one = object("v1", &json!({"hostPort": "localhost:7070"}));
    let two = object("v2", &json!({"host": "localhost", "port": "7070"}));
    for version in ["v1", "v1beta1"] {
        for (desired, from, to) in [("v2", &one, &two), ("v1", &two, &one), ("v1", &one, &one)] {
            let response = convert(&process, version, desired, from).await;
            assert_eq!(response["result"], json!({"status": "Success"}));
            assert_eq!(response["convertedObjects"], json!([to]));
        }
        for (desired, from, reason) in [
            ("v3", one.clone(), "unexpected conversion version"),
            ("v2", object("v3", &json!({})), "unexpected conversion version"),
            ("v2", object("v1", &json!({"hostPort": "localhost"})), "invalid hostPort value"),
            ("v2", object("v1", &json!({"hostPort": "a:b:c"})), "invalid hostPort value"),
            ("v2", object("v1", &json!({"hostPort": 7070})), "invalid hostPort value"),
            ("v1", object("v2", &json!({"host": "a", "port": 7070})), "invalid port value"),
        ] {
            let response = convert(&process, version, desired, &from).await;
            assert_eq!(response["result"]["status"], "Failure");
            assert_eq!(response["convertedObjects"], json!([]));
            let message = response["result"]["message"].as_str().unwrap();
            assert!(message.starts_with("Crd a to ") && message.contains(reason), "{message}");
        }
    }
}

#[tokio::test]
async fn readiness_is_on_the_https_port() {
    let process = Process::start(&[]);
    assert_eq!(process.exchange("GET", "/readyz", "").await, ("HTTP/1.1 200 OK".to_owned(), "ok".to_owned()));
}
