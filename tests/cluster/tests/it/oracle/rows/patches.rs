//! How an answer carries a patch, and what the patch does.

use serde_json::{Value, json};

use super::super::answer::{allowed, base64, patched, step};
use super::{Row, m, none, v};

pub(super) fn rules() -> Vec<Row> {
    let patch = || base64("[]");
    vec![
        m("a patch without a type", allowed(&json!({ "patch": patch() }))),
        m("a type without a patch", allowed(&json!({ "patchType": "JSONPatch" }))),
        m("a type and an empty patch", allowed(&json!({ "patch": "", "patchType": "JSONPatch" }))),
        m("a patch of type ``", allowed(&json!({ "patch": patch(), "patchType": "" }))),
        m(
            "a patch of type `MergePatch`, with nothing in it",
            allowed(&json!({ "patch": patch(), "patchType": "MergePatch" })),
        ),
        m(
            "a patch of type `jsonpatch`",
            allowed(&json!({ "patchType": "jsonpatch",
            "patch": base64(r#"[{"op":"add","path":"/data/x","value":"y"}]"#) })),
        ),
        m("a patch of type 7", allowed(&json!({ "patch": patch(), "patchType": 7 }))),
        v("a validating hook with a patch", allowed(&json!({ "patch": patch(), "patchType": "JSONPatch" }))),
        v("a validating hook with a type", allowed(&json!({ "patchType": "JSONPatch" }))),
        v(
            "a validating hook with a type, that says no",
            allowed(&json!({ "allowed": false, "patchType": "JSONPatch" })),
        ),
        m("base64 for URLs", allowed(&json!({ "patch": "W1-_", "patchType": "JSONPatch" }))),
        m("base64 without padding", allowed(&json!({ "patch": "W10", "patchType": "JSONPatch" }))),
        m("base64 in two lines", allowed(&json!({ "patch": "W1\n0=", "patchType": "JSONPatch" }))),
        m("base64 with a space", allowed(&json!({ "patch": "W1 0=", "patchType": "JSONPatch" }))),
        m(
            "the bytes of a patch as numbers",
            allowed(&json!({ "patch": [91, 93], "patchType": "JSONPatch" })),
        ),
        m(
            "a number beyond a byte among them",
            allowed(&json!({ "patch": [91, 300], "patchType": "JSONPatch" })),
        ),
        m(
            "the patch itself, not encoded",
            allowed(&json!({ "patch": [{ "op": "remove", "path": "/data" }], "patchType": "JSONPatch" })),
        ),
        m("a patch that is an object", allowed(&json!({ "patch": {}, "patchType": "JSONPatch" }))),
    ]
}

pub(super) fn patches() -> Vec<Row> {
    let steps = |steps: Value| patched(&steps);
    let long = "x".repeat(1_200_000);
    vec![
        m("`[]`", patched(&json!([]))),
        m("`null`", patched(&Value::Null)),
        m("`{}`", patched(&none())),
        m("`[null]`", patched(&json!([null]))),
        m("`[7]`", patched(&json!([7]))),
        m("no JSON", allowed(&json!({ "patchType": "JSONPatch", "patch": base64("add") }))),
        m("add a member", step("add", "/data/x", &json!("y"))),
        m("add an existing member", step("add", "/data/user", &json!("y"))),
        m("add under a missing parent", step("add", "/binaryData/x", &json!("eA=="))),
        m(
            "add a parent and a member",
            steps(json!([
            { "op": "add", "path": "/binaryData", "value": {} },
            { "op": "add", "path": "/binaryData/x", "value": "eA==" }])),
        ),
        m("add with `~1`", step("add", "/metadata/annotations/a.test~1x", &json!("v"))),
        m(
            "add and remove with `~01` and `~2`",
            steps(json!([
            { "op": "add", "path": "/data/~01~2", "value": "x" },
            { "op": "test", "path": "/data/~01~2", "value": "x" },
            { "op": "remove", "path": "/data/~01~2" }])),
        ),
        m("add into text", step("add", "/data/user/x", &json!("v"))),
        m("add to the end of a list", step("add", "/metadata/finalizers/-", &json!("a.test/c"))),
        m("add in front", step("add", "/metadata/finalizers/0", &json!("a.test/c"))),
        m("add one behind the end", step("add", "/metadata/finalizers/2", &json!("a.test/c"))),
        m("add two behind the end", step("add", "/metadata/finalizers/3", &json!("a.test/c"))),
        m("add at -1", step("add", "/metadata/finalizers/-1", &json!("a.test/c"))),
        m("add at -9", step("add", "/metadata/finalizers/-9", &json!("a.test/c"))),
        m("add at 01", step("add", "/metadata/finalizers/01", &json!("a.test/c"))),
        m("add at `x`", step("add", "/metadata/finalizers/x", &json!("a.test/c"))),
        m("add without a value", steps(json!([{ "op": "add", "path": "/data/x" }]))),
        m("add without a path", steps(json!([{ "op": "add", "value": "x" }]))),
        m("add with a path that is a number", steps(json!([{ "op": "add", "path": 7, "value": "x" }]))),
        m("add with a path without `/`", step("add", "data", &json!({}))),
        m("add the whole document", step("add", "", &json!({}))),
        m("replace", step("replace", "/data/user", &json!("y"))),
        m("replace a missing member", step("replace", "/data/x", &json!("y"))),
        m("replace in a list", step("replace", "/metadata/finalizers/1", &json!("a.test/c"))),
        m("replace behind the end of a list", step("replace", "/metadata/finalizers/2", &json!("a.test/c"))),
        m("replace under a missing parent", step("replace", "/a/b", &json!(1))),
        m("replace the whole document by text", step("replace", "", &json!("x"))),
        m("remove", step("remove", "/data/user", &Value::Null)),
        m("remove a missing member", step("remove", "/data/x", &Value::Null)),
        m("remove from a list", step("remove", "/metadata/finalizers/0", &Value::Null)),
        m("remove the last of a list by -1", step("remove", "/metadata/finalizers/-1", &Value::Null)),
        m("remove behind the end of a list", step("remove", "/metadata/finalizers/2", &Value::Null)),
        m("remove the whole document", step("remove", "", &Value::Null)),
        m(
            "test an equal value",
            steps(json!([
            { "op": "test", "path": "/data/user", "value": "kept" },
            { "op": "add", "path": "/data/x", "value": "y" }])),
        ),
        m("test another value", step("test", "/data/user", &json!("lost"))),
        m("test a missing member for null", step("test", "/data/x", &Value::Null)),
        m("test a missing member for a value", step("test", "/data/x", &json!("y"))),
        m("move", steps(json!([{ "op": "move", "from": "/data/user", "path": "/data/x" }]))),
        m("move a missing member", steps(json!([{ "op": "move", "from": "/data/x", "path": "/data/y" }]))),
        m("move without `from`", steps(json!([{ "op": "move", "path": "/data/y" }]))),
        m("copy", steps(json!([{ "op": "copy", "from": "/data/user", "path": "/data/x" }]))),
        m(
            "copy in a list",
            steps(
                json!([{ "op": "copy", "from": "/metadata/labels/asked", "path": "/metadata/finalizers/0" },
            { "op": "remove", "path": "/metadata/finalizers/0" }]),
            ),
        ),
        m("copy a missing member", steps(json!([{ "op": "copy", "from": "/data/x", "path": "/data/y" }]))),
        m(
            "copy 3.6 MB",
            steps(json!([
            { "op": "add", "path": "/data/x", "value": long },
            { "op": "copy", "from": "/data/x", "path": "/data/y" },
            { "op": "copy", "from": "/data/x", "path": "/data/z" },
            { "op": "copy", "from": "/data/x", "path": "/data/z" }])),
        ),
        m("an operation `frob`", step("frob", "/data/x", &json!("y"))),
        m("an operation `ADD`", step("ADD", "/data/x", &json!("y"))),
        m("an operation 7", steps(json!([{ "op": 7, "path": "/data/x", "value": "y" }]))),
        m("no operation", steps(json!([{ "path": "/data/x", "value": "y" }]))),
        m(
            "one that applies and one that does not",
            steps(json!([
            { "op": "add", "path": "/data/x", "value": "y" }, { "op": "remove", "path": "/data/z" }])),
        ),
        m("another name", step("replace", "/metadata/name", &json!("renamed"))),
    ]
}
