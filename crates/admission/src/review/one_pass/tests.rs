use serde_json::{Value, json};

use super::*;

fn complete() -> Value {
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    let resource = json!({"group": "apps", "version": "v1", "resource": "deployments"});
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "subResource": "scale", "name": "web", "namespace": "shop", "operation": "UPDATE",
            "userInfo": {"username": "alice", "uid": "1", "groups": ["a", "b"], "extra": {"scopes": ["x"]}},
            "object": {"metadata": {"name": "web", "labels": {}}, "spec": [1.0, {"a": "b"}]},
            "oldObject": {"metadata": {"name": "web"}},
            "options": {"kind": "UpdateOptions"},
            "dryRun": true,
            "unknown": [{}],
        },
    })
}

/// Everything in a request, as text.
fn contents(request: &Request<'_>) -> String {
    let raw = |value: Option<&RawValue>| value.map(|value| value.get().to_owned());
    let user = &request.user;
    format!(
        "{:?}",
        (
            (
                &request.uid,
                &request.kind,
                &request.resource,
                &request.request_kind,
                &request.request_resource
            ),
            (
                &request.subresource,
                &request.name,
                &request.namespace,
                request.operation,
                request.dry_run,
                request.generate_name(),
            ),
            (&user.username, &user.uid, user.groups().collect::<Vec<_>>(), raw(user.extra), user.as_json()),
            (raw(request.object), raw(request.old_object), raw(request.options)),
        )
    )
}

/// Whether `body` is read here; fails if the result is another one than that of serde_json.
fn is_read(body: &str) -> bool {
    let Some(Review { version, request }) = read(body.as_bytes()) else { return false };
    let slow = ReviewKind::Admission.parse::<Request<'_>>(body.as_bytes());
    let (expected_version, expected) = slow.unwrap_or_else(|error| panic!("{error}: {body}"));
    assert_eq!(version, expected_version, "{body}");
    assert_eq!(contents(&request), contents(&expected), "{body}");
    if let Some(object) = request.object {
        let document = request.document().unwrap().ok().unwrap();
        let anew = Document::parse(object.get()).unwrap();
        assert!(document.is_of(object.get()), "{body}");
        assert_eq!(document.view().depth(), anew.view().depth());
        assert!(document.view().same_as(anew.view()), "{body}");
    }
    true
}

#[test]
fn a_review_of_the_api_server_is_read() {
    let review = complete();
    assert!(is_read(&review.to_string()));
    assert!(is_read(&serde_json::to_string_pretty(&review).unwrap()));
    let absent = [
        "requestKind",
        "requestResource",
        "subResource",
        "name",
        "namespace",
        "object",
        "oldObject",
        "options",
    ];
    for name in absent {
        for value in [None, Some(Value::Null)] {
            let mut review = complete();
            let request = review["request"].as_object_mut().unwrap();
            request.remove(name);
            request.extend(value.map(|value| (name.to_owned(), value)));
            assert!(is_read(&review.to_string()), "{name}");
        }
    }
}

#[test]
fn any_other_body_is_read_as_serde_json_reads_it_or_left_to_it() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(""),
        json!("a\"\u{e9}"),
        json!("CREATE"),
        json!([]),
        json!(["a"]),
        json!({}),
        json!({"group": "", "version": "v1", "kind": "Pod", "resource": "pods"}),
    ];
    let paths = [
        "",
        "/apiVersion",
        "/kind",
        "/request",
        "/request/uid",
        "/request/kind",
        "/request/kind/group",
        "/request/resource",
        "/request/resource/version",
        "/request/requestKind",
        "/request/requestResource/resource",
        "/request/subResource",
        "/request/name",
        "/request/namespace",
        "/request/operation",
        "/request/userInfo",
        "/request/userInfo/username",
        "/request/userInfo/groups",
        "/request/userInfo/groups/0",
        "/request/userInfo/extra",
        "/request/object",
        "/request/oldObject",
        "/request/options",
        "/request/dryRun",
        "/request/unknown",
    ];
    let mut read = 0;
    for path in paths {
        for value in &values {
            let mut review = complete();
            *review.pointer_mut(path).unwrap() = value.clone();
            read += usize::from(is_read(&review.to_string()));
        }
    }
    assert!(read > 60, "{read}");
}

#[test]
fn each_broken_byte_is_left_to_serde_json_or_makes_the_same_request() {
    let body = complete().to_string();
    for at in 0..body.len() {
        let (before, after) = (&body[..at], &body[at + 1..]);
        is_read(&format!("{before}{after}"));
        for byte in ["\"", "{", "]", ",", "\\", " ", "0", "\u{e9}"] {
            is_read(&format!("{before}{byte}{after}"));
        }
        assert!(!is_read(before), "{before}");
    }
}

#[test]
fn members_that_occur_twice_are_left_to_serde_json() {
    let body = complete().to_string();
    for twice in
        [r#""uid":"b","#, r#""object":{},"#, r#""userInfo":{"username":"root"},"#, r#""\u0075id":"b","#]
    {
        assert!(!is_read(&body.replacen(r#""uid""#, &format!(r#"{twice}"uid""#), 1)), "{twice}");
    }
    assert!(is_read(&body.replacen(r#""uid""#, r#""unknown":1,"uid""#, 1)));
}

#[test]
fn object_and_old_object_are_read_separately() {
    let body = complete().to_string();
    let Review { request, .. } = read(body.as_bytes()).unwrap();
    let old = Document::parse(request.old_object.unwrap().get()).unwrap();
    assert!(!request.document().unwrap().ok().unwrap().is_of(old.text()));
}
