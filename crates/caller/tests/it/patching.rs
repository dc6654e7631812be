//! Patches in answers, as the API server applies or refuses them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use vestibule_caller::{Admission, Allowed, Answer, FailurePolicy, Outcome, Review, judge};

use super::expectation::{expect_allowed, expect_failed};
use super::{UID, allowed, mutating, pod, review};

#[test]
fn a_patch_is_applied() {
    let patch = json!([
        {"op": "test", "path": "/kind", "value": "Pod"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "1"},
        {"op": "add", "path": "/spec/containers/-", "value": {"name": "proxy"}},
    ]);
    let outcome = applied(&patch);
    let object = outcome.object.unwrap();
    assert_eq!(object["metadata"]["annotations"], json!({"example.com/a": "1"}));
    assert_eq!(object["spec"]["containers"][1]["name"], "proxy");
    assert_eq!(outcome.patch, Some(patch));
}

#[test]
fn an_array_of_numbers_is_a_patch_too() {
    let patch = json!([{"op": "remove", "path": "/metadata/labels"}]);
    let numbers: Vec<u8> = patch.to_string().into_bytes();
    let answer = Answer::json(200, allowed(json!({"patch": numbers, "patchType": "JSONPatch"})));
    let outcome = expect_allowed("numbers", &mutating(), &answer);
    assert!(outcome.object.unwrap()["metadata"].get("labels").is_none());
}

#[test]
fn an_empty_patch_is_none() {
    for patch in [json!([]), Value::Null] {
        for review in [review(), deletion()] {
            let Outcome::Allowed(outcome) = judge(&review, &mutating(), &patched(&patch)) else {
                panic!("{patch}")
            };
            assert!(outcome.patch.is_none(), "{patch}");
            assert_eq!(outcome.object.as_ref(), review.object(), "{patch}");
        }
    }
}

#[test]
fn an_unusable_patch_is_refused_under_ignore_too() {
    let step = |op: &str, path: &str, value: Value| json!([{"op": op, "path": path, "value": value}]);
    let cases = [
        (
            step("add", "/metadata/annotations/q", json!("1")),
            r#"add operation does not apply: doc is missing path: "/metadata/annotations/q": missing value"#,
        ),
        (
            step("add", "/spec/containers/5", json!({})),
            "error in add for path: '/spec/containers/5': Unable to access invalid index: 5",
        ),
        (
            json!([{"op": "remove", "path": "/zz"}]),
            "error in remove for path: '/zz': Unable to remove nonexistent key: zz: missing value",
        ),
        (step("test", "/kind", json!("Job")), "testing value /kind failed: test failed"),
        (step("frob", "/kind", json!(1)), "Unexpected kind: frob"),
        (
            step("add", "kind", json!(1)),
            r#"add operation does not apply: doc is missing path: "kind": missing value"#,
        ),
        (
            step("add", "", json!({})),
            r#"add operation does not apply: doc is missing path: "": missing value"#,
        ),
        (
            step("add", "/spec/containers/x", json!({})),
            r#"error in add for path: '/spec/containers/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x""#,
        ),
        (
            step("replace", "/spec/containers/1", json!({})),
            "replace operation does not apply: doc is missing key: /spec/containers/1: missing value",
        ),
        (
            step("replace", "/status/phase", json!(1)),
            "replace operation does not apply: doc is missing path: /status/phase: missing value",
        ),
        (step("replace", "", json!(1)), "replace operation value must be object or array"),
        (
            json!([{"op": "remove", "path": "/spec/containers/-3"}]),
            "error in remove for path: '/spec/containers/-3': Unable to access invalid index: -3",
        ),
        (json!([{"op": "add", "value": 1}]), "add operation failed to decode path: missing value"),
        (
            json!([{"op": "copy", "path": "/x"}]),
            "copy operation failed to decode from: operation, missing from",
        ),
        (
            json!([{"op": "move", "from": "/zz", "path": "/x"}]),
            "error in move for path: 'zz': Unable to remove nonexistent key: zz: missing value",
        ),
        (json!([null]), "Unexpected kind: unknown"),
        (step("replace", "/kind", json!("Job")), "the patched object does not decode"),
        (step("replace", "", json!([])), "the patched object does not decode"),
    ];
    for (patch, expected) in cases {
        refused(&review(), &patched(&patch), &format!("Internal error occurred: {expected}"));
    }
}

#[test]
fn an_undecodable_patch_fails_the_call() {
    let undecodable = [
        BASE64_STANDARD.encode("not json"),
        BASE64_STANDARD.encode(r#"{"op": "remove"}"#),
        BASE64_STANDARD.encode("[1]"),
    ];
    for patch in undecodable {
        let answer = Answer::json(200, allowed(json!({"patch": patch, "patchType": "JSONPatch"})));
        let failed = expect_failed(&patch, &mutating(), &answer);
        let why = r#"Internal error occurred: failed calling webhook "m.example.com": received undecodable patch in webhook response: "#;
        assert!(failed.message.starts_with(why) && failed.ignorable, "{}", failed.message);
    }
}

#[test]
fn a_patch_that_only_this_library_takes_is_applied_and_reported() {
    let cases = [
        (json!([{"op": "replace", "path": "/metadata/zz", "value": "1"}]), "/metadata/zz", json!("1")),
        (
            json!([{"op": "add", "path": "/spec/containers/-1", "value": {"name": "b"}}]),
            "/spec/containers/1/name",
            json!("b"),
        ),
        (
            json!([{"op": "add", "path": "/spec/containers/00", "value": {"name": "b"}}]),
            "/spec/containers/0/name",
            json!("b"),
        ),
        (
            json!([{"op": "replace", "path": "/spec/containers/-1", "value": {"name": "b"}}]),
            "/spec/containers/0/name",
            json!("b"),
        ),
        (
            json!([{"op": "add", "path": "/metadata/labels/a~2", "value": "1"}]),
            "/metadata/labels/a~02",
            json!("1"),
        ),
        (json!([{"op": "test", "path": "/metadata/zz", "value": null}]), "/metadata/name", json!("web")),
        (json!([{"op": "test", "path": "/metadata/zz"}]), "/metadata/name", json!("web")),
        (json!([{"op": "add", "path": "/metadata/zz"}]), "/metadata/zz", Value::Null),
        (json!([{"op": "add", "path": "junk/metadata/zz", "value": 1}]), "/metadata/zz", json!(1)),
    ];
    for (patch, path, expected) in cases {
        let outcome = applied(&patch);
        assert_eq!(outcome.object.unwrap().pointer(path), Some(&expected), "{patch}");
        assert!(outcome.leniency.is_some(), "{patch}");
    }
}

#[test]
fn a_patch_of_the_standard_needs_no_leniency() {
    let patch = json!([
        {"op": "test", "path": "", "value": pod_in_shop()},
        {"op": "add", "path": "/metadata/labels/a~1b~0c~01", "value": "1"},
        {"op": "copy", "from": "/spec/containers/0", "path": "/spec/containers/-"},
        {"op": "replace", "path": "/spec/containers/1/name", "value": "second"},
        {"op": "move", "from": "/spec/containers/0", "path": "/spec/containers/1"},
        {"op": "remove", "path": "/metadata/labels/app"},
    ]);
    let outcome = applied(&patch);
    assert_eq!(outcome.leniency, None);
    let object = outcome.object.unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"a/b~c~1": "1"}));
    let names: Vec<_> =
        object["spec"]["containers"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["second", "web"]);
}

#[test]
fn the_whole_document_can_be_replaced() {
    let mut other = pod_in_shop();
    other["metadata"]["name"] = json!("other");
    let patch = json!([{"op": "replace", "path": "", "value": other}]);
    let outcome = applied(&patch);
    assert_eq!(outcome.object, Some(other));
}

fn pod_in_shop() -> Value {
    review().object().unwrap().clone()
}

#[test]
fn a_patch_on_delete_is_refused_under_ignore_too() {
    let patch = json!([{"op": "remove", "path": "/metadata"}]);
    refused(
        &deletion(),
        &patched(&patch),
        r#"Internal error occurred: admission webhook "m.example.com" attempted to modify the object, which is not supported for this operation"#,
    );
}

#[test]
fn another_patch_type_fails_the_call() {
    let patch = BASE64_STANDARD.encode(r#"[{"op":"remove","path":"/spec"}]"#);
    for name in ["MergePatch", "jsonpatch"] {
        let answer = Answer::json(200, allowed(json!({"patch": patch, "patchType": name})));
        let failed = expect_failed(name, &mutating(), &answer);
        let why = format!(
            r#"Internal error occurred: failed calling webhook "m.example.com": unsupported patch type "{name}""#
        );
        assert_eq!((failed.message, failed.ignorable), (why, true));
    }
}

#[test]
fn copies_cannot_grow_a_document_without_end() {
    let mut steps = vec![json!({"op": "add", "path": "/x", "value": ["x".repeat(1000)]})];
    steps.extend((0..40).map(|_| json!({"op": "copy", "from": "/x", "path": "/x/-"})));
    refused(
        &review(),
        &patched(&json!(steps)),
        "Internal error occurred: Unable to complete the copy, the accumulated size",
    );
}

fn applied(patch: &Value) -> Allowed {
    expect_allowed(&patch.to_string(), &mutating(), &patched(patch))
}

fn patched(patch: &Value) -> Answer {
    let encoded = BASE64_STANDARD.encode(patch.to_string());
    Answer::json(200, allowed(json!({"patch": encoded, "patchType": "JSONPatch"})))
}

fn deletion() -> Review {
    Review::delete(pod()).uid(UID).build().unwrap()
}

fn refused(review: &Review, answer: &Answer, start: &str) {
    match judge(review, &mutating(), answer).under(FailurePolicy::Ignore, review) {
        Admission::Refused { code, message, .. } => {
            assert_eq!(code, 500, "{message}");
            assert!(message.starts_with(start), "{message:?} does not start with {start:?}");
        }
        Admission::Admitted { .. } => panic!("admitted: {start}"),
    }
}

/// Each `copy` of a few bytes doubles the depth: a patch of kilobytes made an object whose end overflowed the stack.
#[test]
fn a_patch_that_nests_without_end_is_refused() {
    const STACK: usize = 2 * 1024 * 1024;
    // 2 + 4 + ... levels below `/spec/deep`, the last of which is a place to copy to.
    let deepened = |rounds: usize| {
        let mut steps = vec![json!({"op": "add", "path": "/spec/deep", "value": {"a": {}}})];
        let mut levels = 2;
        for _ in 0..rounds {
            let path = format!("/spec/deep{}", "/a".repeat(levels));
            steps.push(json!({"op": "copy", "from": "/spec/deep", "path": path}));
            levels *= 2;
        }
        Value::Array(steps)
    };
    let on_a_small_stack = |patch: Value| {
        let judged = move || match judge(&review(), &mutating(), &patched(&patch)) {
            Outcome::Allowed(outcome) => Ok(outcome.object.is_some()),
            Outcome::Failed(failed) => Err(failed.message),
            _ => panic!("denied"),
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(judged).unwrap();
        thread.join().unwrap()
    };
    assert!(on_a_small_stack(deepened(8)).unwrap());
    for patch in [deepened(12), deepened(17)] {
        let message = on_a_small_stack(patch).unwrap_err();
        assert!(message.contains("nests deeper than 1000 levels"), "{message}");
    }
    // The deepest that is taken: 998 levels below two that are there.
    let mut steps = vec![json!({"op": "add", "path": "/spec/deep", "value": {}})];
    steps.extend((1..997).map(
        |levels| json!({"op": "add", "path": format!("/spec/deep{}", "/a".repeat(levels)), "value": {}}),
    ));
    assert!(on_a_small_stack(Value::Array(steps)).unwrap());
}
