//! RFC 6902: reading patches, and applying them strictly.

use vestibule_patch::{ApplyError, ApplyErrorKind, Document, Operation, to_json};

fn apply(document: &str, patch: &str) -> Result<String, ApplyError> {
    let operations: Vec<Operation> = serde_json::from_str(patch).unwrap();
    let mut document = Document::parse(document).unwrap();
    document.apply_all(&operations)?;
    Ok(document.to_json())
}

#[test]
fn examples_of_the_standard() {
    for (document, patch, result) in [
        (r#"{"foo":"bar"}"#, r#"[{"op":"add","path":"/baz","value":"qux"}]"#, r#"{"foo":"bar","baz":"qux"}"#),
        (r#"{"foo":["bar"]}"#, r#"[{"op":"add","path":"/foo/0","value":1}]"#, r#"{"foo":[1,"bar"]}"#),
        (r#"{"a":1,"b":2}"#, r#"[{"op":"remove","path":"/a"}]"#, r#"{"b":2}"#),
        (r#"[1,2,3]"#, r#"[{"op":"remove","path":"/1"}]"#, "[1,3]"),
        (r#"{"a":1,"b":2}"#, r#"[{"op":"replace","path":"/a","value":[]}]"#, r#"{"a":[],"b":2}"#),
        (
            r#"{"a":{"x":1},"b":{}}"#,
            r#"[{"op":"move","from":"/a/x","path":"/b/y"}]"#,
            r#"{"a":{},"b":{"y":1}}"#,
        ),
        (r#"[1,2,3,4]"#, r#"[{"op":"move","from":"/1","path":"/3"}]"#, "[1,3,4,2]"),
        (r#"{"a":[1,2]}"#, r#"[{"op":"copy","from":"/a","path":"/b"}]"#, r#"{"a":[1,2],"b":[1,2]}"#),
        (r#"{"a":1}"#, r#"[{"op":"test","path":"/a","value":1.0e0}]"#, r#"{"a":1}"#),
        (
            r#"{"a":100}"#,
            r#"[{"op":"test","path":"/a","value":1e2},{"op":"test","path":"","value":{"a":1E+2}}]"#,
            r#"{"a":100}"#,
        ),
        (r#"{"a":0.50}"#, r#"[{"op":"test","path":"/a","value":5e-1}]"#, r#"{"a":0.50}"#),
        (r#"{"a":110}"#, r#"[{"op":"test","path":"/a","value":0.11e3}]"#, r#"{"a":110}"#),
        (r#"{"a":-0.0}"#, r#"[{"op":"test","path":"/a","value":0}]"#, r#"{"a":-0.0}"#),
        (
            r#"{"~1":1,"a/b":2}"#,
            r#"[{"op":"test","path":"/~01","value":1},{"op":"test","path":"/a~1b","value":2}]"#,
            r#"{"~1":1,"a/b":2}"#,
        ),
        (
            "[1]",
            r#"[{"op":"add","path":"/-","value":null},{"op":"add","path":"/2","value":[]}]"#,
            "[1,null,[]]",
        ),
        (r#"{"a":1}"#, r#"[{"op":"add","path":"/a","value":2}]"#, r#"{"a":2}"#),
        (r#"{"a":1}"#, r#"[{"op":"add","path":"","value":[]}]"#, "[]"),
        (r#"{"a":1}"#, r#"[{"op":"replace","path":"","value":7}]"#, "7"),
        (r#"{"a":1}"#, r#"[{"op":"move","from":"/a","path":"/a"}]"#, r#"{"a":1}"#),
        (r#"{"a":1}"#, r#"[{"op":"move","from":"/a","path":"/ab"}]"#, r#"{"ab":1}"#),
        (r#"{"a":1}"#, r#"[{"op":"copy","from":"","path":"/b"}]"#, r#"{"a":1,"b":{"a":1}}"#),
        (r#"{"":1}"#, r#"[{"op":"replace","path":"/","value":2}]"#, r#"{"":2}"#),
        (r#"{"a":1,"a":2,"b":3}"#, r#"[{"op":"remove","path":"/a"}]"#, r#"{"b":3}"#),
        (
            r#"{"a":1,"a":2}"#,
            r#"[{"op":"replace","path":"/a","value":3},{"op":"test","path":"/a","value":3}]"#,
            r#"{"a":1,"a":3}"#,
        ),
        (r#"{"a":1,"xyz":2}"#, r#"[{"op":"remove","path":"/a","xyz":1}]"#, r#"{"xyz":2}"#),
        ("{}", r#"[{"op":"add","path":"/\u0001\"\\é","value":1}]"#, r#"{"\u0001\"\\é":1}"#),
    ] {
        assert_eq!(apply(document, patch).unwrap(), result, "{patch}");
    }
}

#[test]
fn an_operation_that_does_not_apply_says_why() {
    use ApplyErrorKind::{Differs, Index, Inside, Missing, NoParent};
    let reason = |kind| match kind {
        NoParent => "missing parent: no object or list stands above the path",
        Missing => "missing path: no value stands there",
        Index => "invalid index: the list has no such place",
        Inside => "the value holds the place it would go to, or is the whole document",
        Differs => "test failed: another value stands there",
        _ => panic!("{kind}"),
    };
    for (document, patch, kind, place) in [
        ("{}", r#"{"op":"add","path":"/a/b","value":"secret"}"#, NoParent, "/a/b"),
        (r#"{"a":"x"}"#, r#"{"op":"add","path":"/a/b","value":"secret"}"#, NoParent, "/a/b"),
        ("{}", r#"{"op":"remove","path":"/a"}"#, Missing, "/a"),
        ("{}", r#"{"op":"replace","path":"/a","value":1}"#, Missing, "/a"),
        ("[1]", r#"{"op":"add","path":"/2","value":1}"#, Index, "/2"),
        ("[1]", r#"{"op":"add","path":"/01","value":1}"#, Index, "/01"),
        ("[1]", r#"{"op":"add","path":"/-1","value":1}"#, Index, "/-1"),
        ("[1]", r#"{"op":"remove","path":"/-"}"#, Index, "/-"),
        ("[1]", r#"{"op":"remove","path":"/1"}"#, Index, "/1"),
        ("[1]", r#"{"op":"remove","path":""}"#, Inside, "the whole document"),
        (r#"{"a":{}}"#, r#"{"op":"move","from":"/a","path":"/a/b"}"#, Inside, "/a/b"),
        (r#"{"a":{}}"#, r#"{"op":"move","from":"/b","path":"/a/b"}"#, Missing, "/b"),
        (r#"{"a":{}}"#, r#"{"op":"copy","from":"/b","path":"/a/b"}"#, Missing, "/b"),
        (r#"{"a":"secret"}"#, r#"{"op":"test","path":"/a","value":"geheim"}"#, Differs, "/a"),
        (r#"{"a":1.5}"#, r#"{"op":"test","path":"/a","value":15}"#, Differs, "/a"),
        ("{}", r#"{"op":"test","path":"/a","value":null}"#, Missing, "/a"),
        (r#"{"a":"1"}"#, r#"{"op":"test","path":"/a","value":1}"#, Differs, "/a"),
    ] {
        let patch = format!(r#"[{{"op":"test","path":"","value":{document}}},{patch}]"#);
        let error = apply(document, &patch).unwrap_err();
        assert_eq!((error.kind, error.index), (kind, Some(1)), "{patch}");
        let name = serde_json::from_str::<Vec<Operation>>(&patch).unwrap()[1].name();
        assert_eq!(error.to_string(), format!("operation 1: cannot {name} at {place}: {}", reason(kind)));
    }
}

#[test]
fn an_invalid_operation_says_why() {
    for (patch, says) in [
        (
            r#"[{"op":"merge","path":"/a"}]"#,
            "unknown operation `merge` at `/a`: RFC 6902 has add, remove, replace, move, copy and test",
        ),
        (r#"[{"op":"add","path":"/a"}]"#, "`add` at `/a` has no `value`"),
        (r#"[{"op":"move","path":"/a"}]"#, "`move` at `/a` has no `from`"),
        (r#"[{"op":"add","path":"a","value":1}]"#, "a JSON pointer is empty or starts with `/`"),
        (r#"[{"op":"add","path":"/~2","value":1}]"#, "`~` in a JSON pointer is followed by `0` or `1`"),
        (r#"[{"path":"/a","value":1}]"#, "missing field `op`"),
        (r#"[{"op":"remove"}]"#, "missing field `path`"),
    ] {
        let error = serde_json::from_str::<Vec<Operation>>(patch).err().unwrap().to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn null_is_a_value_and_numbers_stay_as_written() {
    let text = r#"[{"op":"add","path":"/a","value":null},{"op":"test","path":"","value":1e400},{"op":"copy","from":"/a","path":"/b"}]"#;
    let operations: Vec<Operation> = serde_json::from_str(text).unwrap();
    assert_eq!(to_json(&operations), text);
    assert_eq!(serde_json::to_string(&operations).unwrap(), text);
    let from_bytes: Vec<Operation> = serde_json::from_reader(text.as_bytes()).unwrap();
    assert_eq!(to_json(&from_bytes), text);
}
