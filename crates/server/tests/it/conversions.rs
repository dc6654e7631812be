//! The conversion of custom resources, beside hooks and within the same limits.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use vestibule_admission::{ConversionHook, Converter, Hook, Unconvertible};

use crate::harness::{HOOK, Running, TIMEOUT, allow, serve_with};

const CONVERT: &str = "/convert/widgets";

async fn serve(converter: impl Converter) -> Running {
    let route = |server: vestibule_server::Server| {
        let server = server.route(HOOK, Hook::mutating("hook", allow()), TIMEOUT);
        server.route_conversion(CONVERT, ConversionHook::new("widgets", converter))
    };
    serve_with(|settings| (settings.max_body, settings.max_conversion_body) = (4 << 10, 64 << 10), route)
        .await
}

fn to_v2(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    let mut object: serde_json::Value = serde_json::from_str(object.get()).unwrap();
    assert_ne!(object["spec"], "panic", "secret");
    object["apiVersion"] = desired.into();
    Ok(to_raw_value(&object).unwrap())
}

fn review(objects: usize, spec: &str) -> String {
    let widget = |number| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": format!("w{number}")},
               "spec": spec})
    };
    let objects: Vec<_> = (0..objects).map(widget).collect();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
           "request": {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": objects}})
    .to_string()
}

#[tokio::test]
async fn a_conversion_is_served_and_reported() {
    let mut server = serve(to_v2).await;
    let mut client = server.connect().await;
    let reply = client.post(&format!("{CONVERT}?timeout=30s"), review(3, "")).await;
    assert_eq!((reply.status, reply.header("content-type")), (StatusCode::OK, "application/json"));
    let names =
        |index: usize| reply.json()["response"]["convertedObjects"][index]["metadata"]["name"].clone();
    assert_eq!([names(0), names(1), names(2)], ["w0", "w1", "w2"]);
    assert_eq!(server.event().await, "widgets u example.com/v2 converted");

    assert_eq!(
        client.post(CONVERT, review(1, "panic")).await.json()["response"]["result"]["status"],
        "Failure"
    );
    assert_eq!(server.event().await, "widgets u example.com/v2 fault");
    assert_eq!(client.review().await.status, StatusCode::OK, "the same connection, after the panic");
}

#[tokio::test]
async fn each_path_takes_reviews_of_its_own_kind() {
    let server = serve(to_v2).await;
    let mut client = server.connect().await;
    let reply = client.post(HOOK, review(1, "")).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(reply.body.contains("not an AdmissionReview"), "{}", reply.body);
    let reply = client.post(CONVERT, crate::harness::review("1")).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(reply.body.contains("not a ConversionReview"), "{}", reply.body);
}

#[tokio::test]
async fn lists_may_be_larger_than_single_objects() {
    let server = serve(to_v2).await;
    let mut client = server.connect().await;
    let reply = client.post(CONVERT, review(100, "x")).await;
    assert_eq!(reply.json()["response"]["convertedObjects"].as_array().unwrap().len(), 100);
    let reply = server.connect().await.post(CONVERT, review(1, &"x".repeat(65 << 10))).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    let reply = server.connect().await.post(HOOK, review(100, "x")).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_conversion_ends_at_its_deadline() {
    let slow = |object: &RawValue, desired: &str| {
        std::thread::sleep(Duration::from_millis(5));
        to_v2(object, desired)
    };
    let server = serve(slow).await;
    let mut client = server.connect().await;
    // All of them take two seconds; to read them takes a moment of the deadline.
    let response =
        client.post(&format!("{CONVERT}?timeout=1s"), review(400, "")).await.json()["response"].clone();
    assert_eq!(
        response["result"]["message"],
        "timeout: conversion widgets was not done within 750 ms of the 1 s that the API server waits (context deadline exceeded)"
    );
    assert_eq!(response["convertedObjects"], json!([]));
}
