use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::fixture::review;
use crate::{Handler, HandlerFuture, Hook, Request};

struct FixedVerdict(fn() -> Verdict);

impl Handler for FixedVerdict {
    fn handle<'a>(&'a self, _request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        Box::pin(async { (self.0)() })
    }
}

async fn answer_of(hook: Hook) -> Answer {
    let body = review("CREATE", r#"{"spec":{}}"#);
    let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(1)).await;
    hook.answer(&review, verdict)
}

fn response(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.content_type, "application/json");
    let mut review: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(review["kind"], "AdmissionReview");
    review["response"].take()
}

fn operations(patch: &str) -> Vec<vestibule_patch::Operation> {
    serde_json::from_str(patch).unwrap()
}

/// Logs, metrics and spans say them.
#[test]
fn each_decision_has_its_word() {
    use Decision::{Allowed, Converted, Denied, Fault, Mutated, NotReady, Unconvertible};
    let decisions =
        [Allowed, Mutated(2), Denied(403), Fault(FaultKind::Error), NotReady, Converted(1), Unconvertible];
    let words = ["allowed", "mutated", "denied", "fault", "not_ready", "converted", "unconvertible"];
    assert_eq!(decisions.map(Decision::as_str), words);
}

/// `{"spec":{}}` has two levels.
#[tokio::test]
async fn a_hook_accepts_objects_up_to_its_depth_limit() {
    for (levels, expected) in
        [(1, Decision::Fault(FaultKind::Undecodable)), (2, Decision::Allowed), (3, Decision::Allowed)]
    {
        let answer = answer_of(Hook::mutating("m", FixedVerdict(Verdict::allowed)).max_depth(levels)).await;
        assert_eq!(answer.decision, expected, "{levels} levels");
    }
}

#[test]
fn a_hook_has_its_name() {
    assert_eq!(Hook::mutating("labels", FixedVerdict(Verdict::allowed)).name(), "labels");
    assert_eq!(Hook::validating("guard", FixedVerdict(Verdict::allowed)).name(), "guard");
}

#[tokio::test]
async fn an_allowing_answer_has_neither_patch_nor_type() {
    for verdict in [Verdict::allowed, || Verdict::mutated(Vec::new())] {
        let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict))).await;
        assert_eq!(response(&answer), json!({"uid": "u-1", "allowed": true}));
        assert_eq!(answer.decision, Decision::Allowed);
    }
}

#[tokio::test]
async fn a_mutating_answer_has_patch_and_type() {
    let verdict = || Verdict::mutated(operations(r#"[{"op":"add","path":"/spec/a","value":1.0}]"#));
    let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict))).await;
    let response = response(&answer);
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
    assert_eq!(patch, br#"[{"op":"add","path":"/spec/a","value":1.0}]"#);
    assert_eq!(answer.decision, Decision::Mutated(1));
}

#[tokio::test]
async fn a_denial_carries_code_reason_and_causes() {
    let verdict = || Denial::new("no such class").field("spec.volumes[0]", "unknown class").into();
    let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict))).await;
    assert_eq!(
        response(&answer),
        json!({"uid": "u-1", "allowed": false, "status": {"status": "Failure", "message": "no such class",
            "reason": "Forbidden", "code": 403, "details": {"causes": [{"reason": "FieldValueInvalid",
            "message": "unknown class", "field": "spec.volumes[0]"}]}}})
    );
    assert_eq!(answer.decision, Decision::Denied(403));
}

#[tokio::test]
async fn a_code_that_would_break_the_connection_is_not_sent() {
    let answer = answer_of(Hook::validating("v", FixedVerdict(|| Denial::new("no").code(1000).into()))).await;
    assert_eq!(response(&answer)["status"]["code"], 403);
}

#[tokio::test]
async fn seconds_that_would_make_the_answer_unreadable_are_not_sent() {
    let verdict = || {
        let mut denial = Denial::new("never").code(429);
        denial.retry_after_seconds = Some(u32::MAX);
        denial.into()
    };
    let answer = answer_of(Hook::validating("v", FixedVerdict(verdict))).await;
    assert_eq!(response(&answer)["status"]["details"]["retryAfterSeconds"], i32::MAX);
}

#[tokio::test]
async fn a_fault_leaves_the_decision_to_the_failure_policy() {
    let verdict = || Fault::new(FaultKind::Error, "the lookup failed\nbecause").into();
    let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict))).await;
    assert_eq!((answer.status, answer.content_type), (500, "text/plain; charset=utf-8"));
    assert_eq!(answer.body, b"the lookup failed because");
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
}

#[tokio::test]
async fn on_fault_deny_makes_a_denial() {
    let verdict = || Fault::new(FaultKind::Error, "the lookup failed").into();
    let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict)).on_fault(OnFault::Deny)).await;
    let response = response(&answer);
    assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(500)));
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
}

#[tokio::test]
async fn on_fault_allow_makes_a_warning() {
    let verdict = || {
        let mut fault = Fault::new(FaultKind::Error, "the lookup failed");
        fault.error = Some("std::io::error::Error");
        fault.into()
    };
    let hook = Hook::mutating("m", FixedVerdict(verdict)).on_fault(OnFault::AllowWithWarning);
    let answer = answer_of(hook).await;
    let expected =
        json!({"uid": "u-1", "allowed": true, "warnings": ["allowed without a decision: the lookup failed"]});
    assert_eq!((answer.status, response(&answer)), (200, expected));
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
    assert_eq!(answer.error, Some("std::io::error::Error"));
}

/// The warning that no decision was made was one of the `more warnings`.
#[tokio::test]
async fn the_warning_of_a_fault_comes_before_many_others() {
    let verdict = || {
        let mut verdict = Verdict::from(Fault::new(FaultKind::Error, "the lookup failed"));
        (0..20).for_each(|number| verdict.warnings.push(&format!("{number} {}", "x".repeat(300))));
        verdict
    };
    let hook = Hook::mutating("m", FixedVerdict(verdict)).on_fault(OnFault::AllowWithWarning);
    let warnings = response(&answer_of(hook).await)["warnings"].take();
    assert_eq!(warnings[0], "allowed without a decision: the lookup failed");
    assert_eq!(warnings[15], "and 6 more warnings");
}

#[tokio::test]
async fn a_panic_is_a_fault_without_its_message() {
    let answer = answer_of(Hook::mutating("m", FixedVerdict(|| panic!("s3cret")))).await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.body, b"the handler of m panicked");
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Panic));
}

#[tokio::test]
async fn an_inapplicable_patch_is_a_fault() {
    let verdict = || Verdict::mutated(operations(r#"[{"op":"remove","path":"/spec/a"}]"#));
    let answer = answer_of(Hook::mutating("m", FixedVerdict(verdict))).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Patch));
}

#[tokio::test]
async fn an_object_too_deep_to_patch_is_undecodable() {
    let deep = "[".repeat(10_001) + &"]".repeat(10_001);
    let body = review("CREATE", &deep);
    let verdict = Verdict::mutated(operations(r#"[{"op":"add","path":"/a","value":1}]"#));
    let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let answer = Hook::mutating("m", FixedVerdict(Verdict::allowed)).answer(&review, verdict);
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
}

#[tokio::test]
async fn not_ready_is_503_with_retry_after() {
    let answer =
        answer_of(Hook::mutating("m", FixedVerdict(|| Verdict::not_ready("namespaces are being read"))))
            .await;
    assert_eq!((answer.status, answer.retry_after_seconds), (503, Some(1)));
    assert_eq!(answer.decision, Decision::NotReady);
}

#[tokio::test]
async fn warnings_and_audit_annotations_go_along_with_a_denial() {
    let verdict = || {
        let mut verdict = Verdict::from(Denial::new("no"));
        verdict.warnings.push("look\nhere");
        verdict.audit.insert("example.com/rule", "one");
        verdict
    };
    let response = response(&answer_of(Hook::validating("v", FixedVerdict(verdict))).await);
    assert_eq!(response["warnings"], json!(["look", "here"]));
    assert_eq!(response["auditAnnotations"], json!({"example.com-rule": "one"}));
}

/// Regression: the API server's library compares `"<"` with the `"\u003c"` that the API server wrote, and the request failed with 500 even
/// under `failurePolicy: Ignore`.
#[tokio::test]
async fn operations_test_are_decided_before_the_answer() {
    let answer = async |patch: &'static str| {
        struct Patched(&'static str);
        impl Handler for Patched {
            fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
                Box::pin(async { Verdict::mutated(operations(self.0)) })
            }
        }
        let hook = Hook::mutating("m", Patched(patch));
        let body = review("CREATE", r#"{"spec":{"command":"a \u003c b","size":1.0}}"#);
        let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(1)).await;
        hook.answer(&review, verdict)
    };
    let tested = answer(
        r#"[{"op":"test","path":"/spec/command","value":"a < b"},{"op":"test","path":"/spec/size","value":1},
            {"op":"remove","path":"/spec/size"}]"#,
    )
    .await;
    assert_eq!(tested.decision, Decision::Mutated(1));
    let patch = response(&tested)["patch"].as_str().map(|patch| STANDARD.decode(patch).unwrap());
    assert_eq!(patch.as_deref(), Some(&br#"[{"op":"remove","path":"/spec/size"}]"#[..]));
    let only = answer(r#"[{"op":"test","path":"/spec/size","value":1}]"#).await;
    assert_eq!(response(&only), json!({"uid": "u-1", "allowed": true}));
    let failed = answer(r#"[{"op":"test","path":"/spec/size","value":2}]"#).await;
    assert_eq!(failed.decision, Decision::Fault(FaultKind::Patch));
}
