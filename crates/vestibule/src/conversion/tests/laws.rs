//! Laws of conversion, for every list of objects.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use vestibule_admission::ConversionReview;

use super::links;

const NAMES: &[&str] = &["a", "b", "c.example.org", "de"];
const TEXTS: &[&str] = &["", "x", "\"\\/\n", "größe \u{1f600}", "1.0"];
/// Of members that no type knows.
const UNKNOWN: &[&str] = &["x-a", "x-b/c", "x~", "\"", "größe"];

fn object(members: &BTreeMap<&str, Value>) -> Value {
    members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>().into()
}

/// Members that no type knows.
fn unknown() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        select(TEXTS).prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(select(NAMES), inner, 0..3).prop_map(|members| object(&members)),
        ]
    });
    btree_map(select(UNKNOWN), tree, 0..3)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn with(known: Value, unknown: Map<String, Value>) -> Value {
    let Value::Object(mut members) = known else { panic!("an object") };
    members.extend(unknown);
    Value::Object(members)
}

fn rules() -> impl Strategy<Value = Value> {
    let rule = (select(NAMES), 0..3_i64, unknown())
        .prop_map(|(name, weight, unknown)| with(json!({"name": name, "weight": weight}), unknown));
    vec(rule, 1..4).prop_map(Value::from)
}

fn metadata() -> impl Strategy<Value = Value> {
    let words = || btree_map(select(NAMES), select(TEXTS), 0..3);
    (select(NAMES), select(NAMES), any::<u32>(), words(), words(), any::<u32>(), unknown()).prop_map(
        |(name, namespace, uid, labels, annotations, generation, unknown)| {
            let known = json!({"name": name, "namespace": namespace, "uid": uid.to_string(), "labels": labels,
                               "annotations": annotations, "generation": generation, "creationTimestamp": null,
                               "finalizers": ["example.com/kept"], "managedFields": [{"manager": "m"}]});
            with(known, unknown)
        },
    )
}

fn link() -> impl Strategy<Value = Value> {
    (1..4_u8, select(NAMES), any::<u16>(), rules(), metadata(), unknown(), unknown()).prop_map(
        |(version, host, port, rules, metadata, in_spec, beside)| {
            let spec = match version {
                1 => json!({"hostPort": format!("{host}:{port}"), "rules": rules}),
                2 => json!({"host": host, "port": port, "rules": rules}),
                _ => json!({"host": host, "port": port.to_string(), "rules": rules}),
            };
            let known = json!({"apiVersion": format!("example.com/v{version}"), "kind": "Link", "metadata": metadata,
                               "spec": with(spec, in_spec)});
            with(known, beside)
        },
    )
}

/// The whole answer, as the API server would get it.
fn converted(objects: &[Value], desired: &str) -> Vec<Value> {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": desired, "objects": objects},
    })
    .to_string();
    let review = ConversionReview::parse(review.as_bytes()).unwrap();
    let hook = links().hook("links");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let objects = runtime.block_on(hook.convert(&review.request));
    let answer: Value = serde_json::from_slice(&hook.answer(&review, &objects).body).unwrap();
    assert_eq!(answer["response"]["result"]["status"], "Success", "{}", answer["response"]["result"]);
    answer["response"]["convertedObjects"].as_array().unwrap().clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn conversion_keeps_order_and_metadata_and_round_trips(
        objects in vec(link(), 0..3),
        desired in 1..4_u8,
    ) {
        let desired = format!("example.com/v{desired}");
        let there = converted(&objects, &desired);
        prop_assert_eq!(there.len(), objects.len());
        for (before, after) in objects.iter().zip(&there) {
            prop_assert_eq!(&after["apiVersion"], &json!(desired));
            prop_assert_eq!(&after["kind"], "Link");
            prop_assert_eq!(&after["metadata"], &before["metadata"]);
            let back = converted(std::slice::from_ref(after), before["apiVersion"].as_str().unwrap());
            prop_assert_eq!(&back, std::slice::from_ref(before));
        }
    }
}
