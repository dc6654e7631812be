//! The table of answers.

mod patches;
mod verdicts;

use serde_json::{Value, json};

use self::patches::{patches, rules};
use self::verdicts::{deletions, denials, notes, v1beta1};
use super::answer::{ServerAnswer, UID, allowed, denied, json, raw, response, review, text};

/// The answers of a server to successive requests; the last one is repeated.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) asked: Asked,
    pub(crate) answers: Vec<ServerAnswer>,
}

/// The registration of the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Mutating,
    Validating,
    MutatingV1Beta1,
    ValidatingV1Beta1,
    /// For deletions.
    Deleting,
    /// With a timeout of one second.
    Hurried,
}

impl Asked {
    pub(crate) const ALL: [Self; 6] = [
        Self::Mutating,
        Self::Validating,
        Self::MutatingV1Beta1,
        Self::ValidatingV1Beta1,
        Self::Deleting,
        Self::Hurried,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub(crate) fn is_validating(self) -> bool {
        matches!(self, Self::Validating | Self::ValidatingV1Beta1)
    }

    pub(crate) fn is_v1beta1(self) -> bool {
        matches!(self, Self::MutatingV1Beta1 | Self::ValidatingV1Beta1)
    }

    pub(crate) fn timeout_seconds(self) -> u8 {
        if self == Self::Hurried { 1 } else { 10 }
    }
}

/// Groups of rows, with their titles.
pub(crate) fn table() -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("Accepted answers", taken()),
        ("Answers that are rejected", not_taken()),
        ("HTTP statuses", statuses()),
        ("Asking again, elsewhere, or in vain", roads()),
        ("Rules for an answer", rules()),
        ("Patches", patches()),
        ("Denials", denials()),
        ("Warnings and audit annotations", notes()),
        ("Reviews of v1beta1", v1beta1()),
        ("Deletions", deletions()),
    ]
}

fn m(what: &'static str, says: ServerAnswer) -> Row {
    Row { what, asked: Asked::Mutating, answers: vec![says] }
}

fn v(what: &'static str, says: ServerAnswer) -> Row {
    Row { what, asked: Asked::Validating, answers: vec![says] }
}

fn series(what: &'static str, answers: impl IntoIterator<Item = ServerAnswer>) -> Row {
    Row { what, asked: Asked::Mutating, answers: answers.into_iter().collect() }
}

fn none() -> Value {
    json!({})
}

fn plain() -> Value {
    review(&json!({ "uid": UID, "allowed": true }))
}

fn taken() -> Vec<Row> {
    let yaml = format!(
        "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse:\n  uid: {UID}\n  allowed: true\n"
    );
    let twice = plain().to_string().replace("\"allowed\":true", "\"allowed\":false,\"allowed\":true");
    vec![
        m("allowed, to a mutating hook", allowed(&none())),
        v("allowed, to a validating hook", allowed(&none())),
        m("201", json(201, &plain())),
        m("202", json(202, &plain())),
        m("203", json(203, &plain())),
        m("206", json(206, &plain())),
        m("no media type", json(200, &plain()).untyped()),
        m("text/plain", json(200, &plain()).typed("text/plain")),
        m("JSON with a charset", json(200, &plain()).typed("application/json; charset=latin1")),
        m(
            "the media type of Kubernetes' protobuf",
            json(200, &plain()).typed("application/vnd.kubernetes.protobuf"),
        ),
        m("compressed, since it was asked for", json(200, &plain()).compressed()),
        m("behind a byte order mark", raw(200, format!("\u{feff}{}", plain()))),
        m("between white space", raw(200, format!("\n  {}\n\n", plain()))),
        m("YAML", raw(200, yaml)),
        m("`allowed` twice, first false, then true", raw(200, twice)),
        m("unknown members", allowed(&json!({ "later": { "x": [1] } }))),
        m("nulls", allowed(&json!({ "patch": null, "patchType": null, "status": null, "warnings": null }))),
        m(
            "a status that says no, beside `allowed: true`",
            allowed(&json!({ "status": { "code": 500, "message": "no" } })),
        ),
        m("padded with 1 MiB of white space", raw(200, plain().to_string() + &" ".repeat(1 << 20))),
    ]
}

fn not_taken() -> Vec<Row> {
    let kind = |api_version: &str, kind: &str| {
        let mut body = plain();
        (body["apiVersion"], body["kind"]) = (json!(api_version), json!(kind));
        json(200, &body)
    };
    let without = |member: &str| {
        let mut body = plain();
        body.as_object_mut().unwrap().remove(member);
        json(200, &body)
    };
    vec![
        m("nothing", raw(200, "")),
        m("nothing, and no media type", raw(200, "").untyped()),
        m("204", raw(204, "").untyped()),
        m("no media type that can be read: `///`", json(200, &plain()).typed("///")),
        m("text", text(200, "ok")),
        m("half a review", raw(200, &plain().to_string()[..40])),
        m("two reviews", raw(200, format!("{} {}", plain(), plain()))),
        m("a review and a word", raw(200, format!("{} ok", plain()))),
        m("an array", raw(200, "[]")),
        m("`null`", raw(200, "null")),
        m("a string", raw(200, "\"ok\"")),
        m("a review without `response`", without("response")),
        m("`response: null`", response(&Value::Null)),
        m("a response that is text", response(&json!("allowed"))),
        m("a response that is a list", response(&json!([]))),
        m("`Response`, capitalized", raw(200, plain().to_string().replace("\"response\"", "\"Response\""))),
        m("no uid", response(&json!({ "allowed": true }))),
        m("another uid", allowed(&json!({ "uid": "other" }))),
        m("a uid that is a number", allowed(&json!({ "uid": 7 }))),
        m("no apiVersion and kind", json(200, &json!({ "response": { "uid": UID, "allowed": true } }))),
        m("no apiVersion", without("apiVersion")),
        m("no kind", without("kind")),
        m("v1beta1, asked for v1", kind("admission.k8s.io/v1beta1", "AdmissionReview")),
        m("v2", kind("admission.k8s.io/v2", "AdmissionReview")),
        m("kind Pod", kind("admission.k8s.io/v1", "Pod")),
        m("another group", kind("apiextensions.k8s.io/v1", "ConversionReview")),
        m("`allowed` as text", allowed(&json!({ "allowed": "true" }))),
        m("`allowed` as a number", allowed(&json!({ "allowed": 1 }))),
        m("warnings as text", allowed(&json!({ "warnings": "one" }))),
        m("a number among the warnings", allowed(&json!({ "warnings": ["one", 2] }))),
        m("a number among the audit annotations", allowed(&json!({ "auditAnnotations": { "a": 1 } }))),
        m("a status code as text", denied(&json!({ "code": "403" }))),
        m("a status code with a fraction", denied(&json!({ "code": 403.5 }))),
        m("a status code beyond 32 bits", denied(&json!({ "code": 4_294_967_296_u64 }))),
    ]
}

fn statuses() -> Vec<Row> {
    let refusal = json!({ "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "my words", "code": 418 });
    let mut rows = vec![
        m("207 and a review", json(207, &plain())),
        m("300 and a review", json(300, &plain())),
        m("304", raw(304, "").untyped()),
        m("403 and a review that allows", json(403, &plain())),
        m("500 and a review that allows", json(500, &plain())),
        m("500, text", text(500, " no luck\n")),
        m("500, text of two lines", text(500, "no \"luck\"\ntoday")),
        m("500, 3,000 characters", text(500, &"x".repeat(3000))),
        m("500, nothing", raw(500, "")),
        m("500, HTML", raw(500, "<b>no</b>").typed("text/html")),
        m("500, no media type", raw(500, "no luck").untyped()),
        m("500, a Status", json(500, &refusal)),
        m("403, a Status", json(403, &refusal)),
        m("200, a Status that is a failure", json(200, &refusal)),
    ];
    let codes =
        [400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 429, 501, 502, 503, 504, 599];
    rows.extend(codes.map(|code| m(format!("{code}, text").leak(), text(code, "my words"))));
    rows
}

fn roads() -> Vec<Row> {
    let busy = |status, seconds| text(status, "busy").header("retry-after", seconds);
    let to = |status, location| raw(status, "").header("location", location);
    let yes = || allowed(&none());
    let hurried = |what, says| Row { what, asked: Asked::Hurried, answers: vec![says] };
    vec![
        series("503 with `Retry-After: 0` twice, then allowed", [busy(503, "0"), busy(503, "0"), yes()]),
        series("429 with `Retry-After: 0`, then allowed", [busy(429, "0"), yes()]),
        series("500 with `Retry-After: 0`, then allowed", [busy(500, "0"), yes()]),
        series("599 with `Retry-After: 0`, then allowed", [busy(599, "0"), yes()]),
        series("503 with `Retry-After: 1`, then allowed", [busy(503, "1"), yes()]),
        series("503 with `Retry-After: +0`, then allowed", [busy(503, "+0"), yes()]),
        series("503 with `Retry-After: -1`, then allowed", [busy(503, "-1"), yes()]),
        series("503 with `Retry-After: 0.5`, then allowed", [busy(503, "0.5"), yes()]),
        series(
            "503 with a date in `Retry-After`, then allowed",
            [busy(503, "Wed, 21 Oct 2026 07:28:00 GMT"), yes()],
        ),
        series("503 without `Retry-After`, then allowed", [text(503, "busy"), yes()]),
        series("404 with `Retry-After: 0`, then allowed", [busy(404, "0"), yes()]),
        series("503 with `Retry-After: 0`, always", [busy(503, "0")]),
        series("429 with `Retry-After: 0`, always", [busy(429, "0")]),
        series("503 with `Retry-After: 0`, then no", [busy(503, "0"), denied(&json!({ "code": 403 }))]),
        hurried("503 with `Retry-After: 30`, within a timeout of one second", busy(503, "30")),
        hurried("no answer, within a timeout of one second", ServerAnswer::Silence),
        m("the end of the connection", ServerAnswer::HangUp),
        series("307 to another path, then allowed", [to(307, "/elsewhere"), yes()]),
        series("308 to another path, then allowed", [to(308, "/elsewhere"), yes()]),
        series("301 to another path, then allowed", [to(301, "/elsewhere"), yes()]),
        series("302 to another path, then allowed", [to(302, "/elsewhere"), yes()]),
        series("303 to another path, then allowed", [to(303, "/elsewhere"), yes()]),
        m("302 to nowhere", raw(302, "")),
    ]
}
