//! Answers as the API server judges them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use vestibule_caller::{Admission, Answer, FailurePolicy, Outcome, Review, judge};

use super::expectation::{expect_allowed, expect_denied, expect_failed};
use super::{UID, allowed, answered, mutating, review, review_v1beta1, validating};

/// `W10=` is `[]`.
const EMPTY_PATCH: &str = "W10=";

#[test]
fn answers_that_are_understood() {
    let body = || allowed(json!({}));
    let typed = |content_type: Option<&str>| Answer {
        content_type: content_type.map(str::to_owned),
        ..Answer::json(200, body())
    };
    let raw = |body: &str| text(200, body);
    let cases = [
        ("plain", Answer::json(200, body())),
        ("201", Answer::json(201, body())),
        ("206", Answer::json(206, body())),
        ("no content type", typed(None)),
        ("text/plain", typed(Some("text/plain; charset=utf-8"))),
        ("byte order mark", raw(&format!("\u{feff}{}", body()))),
        (
            "YAML",
            raw(&format!(
                "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse:\n  uid: {UID}\n  allowed: true\n"
            )),
        ),
        ("unknown fields", Answer::json(200, allowed(json!({"later": {"x": 1}})))),
        ("nulls", Answer::json(200, allowed(json!({"patch": null, "patchType": null, "status": null})))),
        ("status on allow", Answer::json(200, allowed(json!({"status": {"code": 500, "message": "x"}})))),
        (
            "a member twice, the last one counts",
            raw(&format!(
                r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{UID}","allowed":false,"allowed":true}}}}"#
            )),
        ),
    ];
    for (case, answer) in cases {
        let allowed = expect_allowed(case, &mutating(), &answer);
        assert!(allowed.patch.is_none(), "{case}");
        assert_eq!(allowed.object.as_ref(), review().object(), "{case}");
    }
}

#[test]
fn answers_that_fail_the_call() {
    let json = Answer::json;
    let failed_to_call = [
        (
            text(200, "").of_type("application/json"),
            "0-length response with status code: 200 and content type: application/json",
        ),
        (
            text(204, "").untyped(),
            "0-length response with status code: 204 and content type: application/json",
        ),
        (
            json(207, allowed(json!({}))),
            "the server responded with the status code 207 but did not return more information",
        ),
        (
            text(302, "elsewhere"),
            "the server responded with the status code 302 but did not return more information",
        ),
        (text(200, "ok").of_type("///"), "Internal error occurred: mime: no media type"),
        (text(200, "ok"), "couldn't get version/kind; json parse error: "),
        (text(200, r#"{"apiVersion":"#), "couldn't get version/kind; json parse error: "),
        (text(200, "{} {}"), "couldn't get version/kind; json parse error: "),
        (text(200, "7"), "couldn't get version/kind; json parse error: json: cannot unmarshal number"),
        (
            json(200, json!({"apiVersion": "v1", "kind": "Status", "status": "Failure"})),
            "converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            json(200, answered(json!("yes"))),
            "json: cannot unmarshal string into Go struct field AdmissionReview.response of type v1.AdmissionResponse",
        ),
        (
            json(200, allowed(json!({"allowed": false, "status": {"code": 403.5}}))),
            "json: cannot unmarshal number 403.5 into Go struct field Status.response.status.code of type int32",
        ),
        (text(200, "[]"), "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
        (json(403, allowed(json!({}))), "unknown"),
        (text(403, "keep out"), "keep out"),
        (
            text(500, " no luck\n"),
            r#"an error on the server ("no luck") has prevented the request from succeeding"#,
        ),
        (
            json(500, allowed(json!({}))),
            r#"an error on the server ("unknown") has prevented the request from succeeding"#,
        ),
        (text(404, "404 page not found"), "the server could not find the requested resource"),
        (text(503, "later"), "the server is currently unable to handle the request"),
        (text(429, "later"), "the server has received too many requests and has asked us to try again later"),
        (
            json(
                500,
                json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "my words"}),
            ),
            "my words",
        ),
        (
            json(200, json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"})),
            "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            json(200, json!({"apiVersion": "admission.k8s.io/v2", "kind": "AdmissionReview"})),
            r#"no kind "AdmissionReview" is registered for version "admission.k8s.io/v2""#,
        ),
        (
            json(200, json!({"apiVersion": "admission.k8s.io/v1", "kind": "Pod"})),
            r#"no kind "Pod" is registered for version "admission.k8s.io/v1""#,
        ),
        (
            json(200, allowed(json!({"allowed": "yes"}))),
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (json(200, allowed(json!({"patch": "W1-_"}))), "illegal base64 data at input byte 2"),
        (json(200, allowed(json!({"patch": "W10"}))), "illegal base64 data at input byte 0"),
        (
            json(200, allowed(json!({"patch": [{"op": "add"}]}))),
            "json: cannot unmarshal object into Go struct field AdmissionResponse.response.patch of type uint8",
        ),
    ];
    for (answer, expected) in failed_to_call {
        let failed = expect_failed(expected, &mutating(), &answer);
        let start =
            r#"Internal error occurred: failed calling webhook "m.example.com": failed to call webhook: "#;
        let why = failed.message.strip_prefix(start).unwrap_or_else(|| panic!("{}", failed.message));
        assert!(why.starts_with(expected), "{why:?} does not start with {expected:?}");
        assert!(failed.ignorable, "{expected}");
    }
}

#[test]
fn responses_that_break_a_rule() {
    let mutated = |members| (mutating(), allowed(members));
    let validated = |members| (validating(), allowed(members));
    let absent = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    let cases = [
        ((mutating(), absent), "webhook response was absent"),
        ((mutating(), answered(Value::Null)), "webhook response was absent"),
        ((mutating(), answered(json!({"allowed": true}))), r#"expected response.uid="0a1b", got """#),
        (mutated(json!({"uid": "other"})), r#"expected response.uid="0a1b", got "other""#),
        (
            (mutating(), json!({"response": {"uid": UID, "allowed": true}})),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            mutated(json!({"patch": EMPTY_PATCH})),
            "webhook returned response.patch but not response.patchType",
        ),
        (
            mutated(json!({"patchType": "JSONPatch"})),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            mutated(json!({"patch": "", "patchType": "JSONPatch"})),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            mutated(json!({"patch": EMPTY_PATCH, "patchType": ""})),
            r#"webhook returned invalid response.patchType of """#,
        ),
        (validated(json!({"patch": EMPTY_PATCH})), "validating webhook may not return response.patch"),
        (
            validated(json!({"patchType": "JSONPatch", "allowed": false})),
            "validating webhook may not return response.patchType",
        ),
    ];
    for ((hook, body), expected) in cases {
        let failed = expect_failed(expected, &hook, &Answer::json(200, body));
        let name = hook.name();
        let start = format!("Internal error occurred: failed calling webhook {name:?}: ");
        assert_eq!(failed.message, format!("{start}received invalid webhook response: {expected}"));
        assert!(failed.ignorable, "{expected}");
    }
}

#[test]
fn v1beta1_is_laxer() {
    let lax = Answer::json(200, json!({"response": {"allowed": true, "patch": "W10="}}));
    for hook in [mutating(), validating()] {
        assert!(matches!(judge(&review_v1beta1(), &hook, &lax), Outcome::Allowed(_)), "{}", hook.name());
    }
    let strict = Answer::json(200, allowed(json!({})));
    let Outcome::Failed(failed) = judge(&review_v1beta1(), &mutating(), &strict) else { panic!("converted") };
    assert!(
        failed
            .message
            .ends_with("converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion")
    );
}

#[test]
fn denials_as_the_user_sees_them() {
    let deny = r#"admission webhook "v.example.com" denied the request"#;
    let cases = [
        (json!({}), 400, "", format!("{deny} without explanation")),
        (json!({"code": 200, "status": "Success"}), 400, "", format!("{deny} without explanation")),
        (json!({"code": 403, "reason": "Forbidden"}), 403, "Forbidden", format!("{deny}: Forbidden")),
        (json!({"code": 399, "reason": "R", "message": "m"}), 400, "R", format!("{deny}: m")),
        (json!({"code": 999, "message": "m"}), 999, "", format!("{deny}: m")),
    ];
    for (status, code, reason, message) in cases {
        let body = answered(json!({"uid": UID, "status": status}));
        let denied = expect_denied(&validating(), &Answer::json(200, body));
        assert_eq!((denied.code, denied.reason.as_str(), denied.message), (code, reason, message));
    }
}

#[test]
fn a_denial_carries_causes_warnings_and_a_time_to_retry() {
    let body = answered(json!({
        "uid": UID, "allowed": false, "warnings": ["first", "two\nlines"],
        "auditAnnotations": {"rule": "r1", "a/b": "x"},
        "patch": "bm90IGEgcGF0Y2g=", "patchType": "JSONPatch",
        "status": {"code": 429, "message": "busy", "details": {"retryAfterSeconds": 7, "causes":
            [{"reason": "FieldValueInvalid", "message": "no tag", "field": "spec.containers[0].image"}]}},
    }));
    let denied = expect_denied(&mutating(), &Answer::json(200, body));
    assert_eq!((denied.code, denied.retry_after_seconds), (429, Some(7)));
    assert_eq!(denied.causes.len(), 1);
    assert_eq!(denied.causes[0].field, "spec.containers[0].image");
    assert_eq!(denied.causes[0].message, "no tag");
    assert_eq!(denied.causes[0].reason, "FieldValueInvalid");
    assert_eq!(denied.warnings.shown, ["first"]);
    assert_eq!(denied.warnings.dropped, ["two\nlines"]);
    assert_eq!(denied.audit_annotations.kept["m.example.com/rule"], "r1");
    assert_eq!(denied.audit_annotations.dropped, ["a/b"]);
}

#[test]
fn the_failure_policy_decides_about_failures_only() {
    let under = |answer: &Answer, policy| judge(&review(), &mutating(), answer).under(policy, &review());
    let fault = text(500, "no luck");
    let refused = r#"Internal error occurred: failed calling webhook "m.example.com": failed to call webhook: an error on the server ("no luck") has prevented the request from succeeding"#;
    match under(&fault, FailurePolicy::Fail) {
        Admission::Refused { code, message, .. } => assert_eq!((code, message.as_str()), (500, refused)),
        Admission::Admitted { .. } => panic!("admitted under Fail"),
    }
    match under(&fault, FailurePolicy::Ignore) {
        Admission::Admitted { object, failed_open, .. } => {
            assert_eq!(object.as_ref(), review().object());
            assert_eq!(failed_open.unwrap(), refused);
        }
        Admission::Refused { message, .. } => panic!("{message}"),
    }
    let denial = Answer::json(200, answered(json!({"uid": UID, "allowed": false})));
    for policy in [FailurePolicy::Fail, FailurePolicy::Ignore] {
        assert!(matches!(under(&denial, policy), Admission::Refused { code: 400, .. }), "{policy:?}");
    }
}

trait Typed {
    fn of_type(self, content_type: &str) -> Self;
    fn untyped(self) -> Self;
}

impl Typed for Answer {
    fn of_type(self, content_type: &str) -> Self {
        Self { content_type: Some(content_type.to_owned()), ..self }
    }

    fn untyped(self) -> Self {
        Self { content_type: None, ..self }
    }
}

/// serde_json's own limit is 128 levels; kube-apiserver's is 10,000.
#[test]
fn answers_objects_and_patches_of_600_levels_are_judged() {
    let nested = || (0..600).fold(json!(1), |value, _| json!([value]));
    let with_unknown = Answer::json(200, allowed(json!({"later": nested()})));
    assert!(expect_allowed("answer", &mutating(), &with_unknown).patch.is_none());

    let mut object = super::pod();
    object["spec"]["deep"] = nested();
    let review = Review::create(object.clone()).uid(UID).build().unwrap();
    let patch = json!([{"op": "add", "path": "/spec/more", "value": nested()}]).to_string();
    let patched = json!({"patch": BASE64_STANDARD.encode(patch), "patchType": "JSONPatch"});
    let Outcome::Allowed(judged) = judge(&review, &mutating(), &Answer::json(200, allowed(patched))) else {
        panic!("not allowed")
    };
    object["spec"]["more"] = nested();
    object["metadata"]["namespace"] = json!("default");
    assert!(judged.object == Some(object) && judged.leniency.is_none());

    let failed =
        Answer::json(500, json!({"kind": "Status", "status": "Failure", "message": "deep", "x": nested()}));
    assert!(expect_failed("status", &mutating(), &failed).message.ends_with(": deep"));
}

/// An answer of type `text/plain`.
fn text(status: u16, body: &str) -> Answer {
    Answer { status, content_type: Some("text/plain".to_owned()), body: body.as_bytes().to_vec() }
}
