//! Denials, notes, and the other kinds of review.

use serde_json::{Value, json};

use super::super::answer::{UID, allowed, base64, denied, json, patched, response, step, text};
use super::{Asked, Row, m, none, v};

pub(super) fn denials() -> Vec<Row> {
    let code = |code: i64| denied(&json!({ "code": code, "message": "no" }));
    let cause = json!({ "reason": "FieldValueInvalid", "message": "no tag", "field": "data.image" });
    vec![
        v("no status", response(&json!({ "uid": UID, "allowed": false }))),
        v("`allowed` is missing", response(&json!({ "uid": UID }))),
        v("`allowed: null`", response(&json!({ "uid": UID, "allowed": null }))),
        v("an empty status", denied(&none())),
        v("a message", denied(&json!({ "message": "no" }))),
        v("a reason", denied(&json!({ "reason": "Forbidden" }))),
        v(
            "code, reason and message",
            denied(&json!({ "code": 403, "reason": "Forbidden", "message": "no" })),
        ),
        v("a message of two lines with quotes", denied(&json!({ "message": "one \"two\"\nthree é" }))),
        v(
            "a status that is a success",
            denied(&json!({ "status": "Success", "code": 200, "message": "fine" })),
        ),
        v("code -1", code(-1)),
        v("code 0", code(0)),
        v("code 200", code(200)),
        v("code 302", code(302)),
        v("code 399", code(399)),
        v("code 404", code(404)),
        v("code 409", code(409)),
        v("code 422", code(422)),
        v("code 429", code(429)),
        v(
            "code 429 and a time to come again",
            denied(&json!({ "code": 429, "message": "busy", "details": { "retryAfterSeconds": 7 } })),
        ),
        v("code 500", code(500)),
        v("code 599", code(599)),
        v("code 999", code(999)),
        v("causes", denied(&json!({ "code": 422, "message": "no", "details": { "causes": [cause, {}] } }))),
        m(
            "a mutating hook that says no and sends a patch",
            allowed(&json!({ "allowed": false,
            "patchType": "JSONPatch", "patch": base64("no patch"), "status": { "code": 403, "message": "no" } })),
        ),
    ]
}

pub(super) fn notes() -> Vec<Row> {
    let warn = |warnings: Value| allowed(&json!({ "warnings": warnings }));
    let both = |patch: &str, kind: &str| {
        allowed(&json!({ "warnings": ["deprecated"], "auditAnnotations": { "rule": "one" },
            "patchType": kind, "patch": base64(patch) }))
    };
    let note = |annotations: Value| allowed(&json!({ "auditAnnotations": annotations }));
    let many: Vec<String> = (10..30).map(|number| format!("{number}{}", "x".repeat(298))).collect();
    vec![
        m("a warning", warn(json!(["deprecated"]))),
        m("a warning with a line break, and one with a tab", warn(json!(["one\ntwo", "one\ttwo", "kept"]))),
        m("an empty warning", warn(json!(["", "kept"]))),
        m("the same warning twice", warn(json!(["kept", "kept"]))),
        m("a warning with quotes, a backslash and an umlaut", warn(json!(["\"a\" \\ ü"]))),
        m("20 warnings of 300 characters", warn(json!(many))),
        m("one of 4,096 characters", warn(json!(["y".repeat(4096)]))),
        m("one of 4,097 characters", warn(json!(["y".repeat(4097)]))),
        v(
            "a warning of a hook that says no",
            allowed(&json!({ "allowed": false, "warnings": ["deprecated"] })),
        ),
        m("both, beside a patch that does not apply", both(r#"[{"op":"remove","path":"/x"}]"#, "JSONPatch")),
        m("both, beside a patch that is no JSON", both("add", "JSONPatch")),
        m("both, beside a patch of another type", both(r#"[{"op":"remove","path":"/data"}]"#, "MergePatch")),
        m("an audit annotation", note(json!({ "rule": "one" }))),
        m("keys with dots, dashes and capitals", note(json!({ "a.b_C-9": "v" }))),
        m("a key with `/`", note(json!({ "a/b": "v", "kept": "v" }))),
        m("an empty key", note(json!({ "": "v", "kept": "v" }))),
        m(
            "a key with a space, and one that begins with `-`",
            note(json!({ "a b": "v", "-a": "v", "kept": "v" })),
        ),
        m("keys of 63 and 64 characters", note(json!({ "k".repeat(63): "v", "k".repeat(64): "v" }))),
        m("a value of 100 kB in two lines", note(json!({ "long": format!("a\n{}", "b".repeat(100_000)) }))),
        v(
            "an audit annotation of a hook that says no",
            allowed(&json!({ "allowed": false, "auditAnnotations": { "rule": "one" } })),
        ),
    ]
}

pub(super) fn v1beta1() -> Vec<Row> {
    let row = |asked, what, says| Row { what, asked, answers: vec![says] };
    let mutating = |what, says| row(Asked::MutatingV1Beta1, what, says);
    let validating = |what, says| row(Asked::ValidatingV1Beta1, what, says);
    let beta = |response: Value| {
        json(
            200,
            &json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": response }),
        )
    };
    let patch = base64(r#"[{"op":"add","path":"/data/x","value":"y"}]"#);
    vec![
        mutating("a whole answer", beta(json!({ "uid": UID, "allowed": true }))),
        mutating("no uid", beta(json!({ "allowed": true }))),
        mutating("another uid", beta(json!({ "uid": "other", "allowed": true }))),
        mutating("only a response", json(200, &json!({ "response": { "allowed": true } }))),
        mutating("no response", beta(Value::Null)),
        mutating("a patch without a type", beta(json!({ "allowed": true, "patch": patch }))),
        mutating(
            "a patch of another type",
            beta(json!({ "allowed": true, "patch": patch, "patchType": "MergePatch" })),
        ),
        mutating("a type without a patch", beta(json!({ "allowed": true, "patchType": "JSONPatch" }))),
        mutating("v1", allowed(&none())),
        mutating("no", beta(json!({ "allowed": false, "status": { "reason": "R" } }))),
        validating("a patch", beta(json!({ "allowed": true, "patch": patch, "patchType": "JSONPatch" }))),
        validating("no", beta(json!({ "uid": UID, "allowed": false }))),
    ]
}

pub(super) fn deletions() -> Vec<Row> {
    let row = |what, says| Row { what, asked: Asked::Deleting, answers: vec![says] };
    vec![
        row("allowed", allowed(&none())),
        row("a patch with nothing in it", patched(&json!([]))),
        row("a patch", step("add", "/data/x", &json!("y"))),
        row("no", denied(&json!({ "code": 403, "message": "no" }))),
        row("500", text(500, "no luck")),
    ]
}
