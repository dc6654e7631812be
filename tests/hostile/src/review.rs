//! Arbitrary request bodies in place of reviews.

use std::fmt::Display;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule_admission::{
    ConversionHook, ConversionReview, Denial, Handler, HandlerFuture, Hook, Request, Review, ReviewKind,
    Unconvertible, Verdict,
};
use vestibule_patch::{Kind, Operation, Pointer, View};

use crate::reference;

/// The body of an AdmissionReview or ConversionReview request.
///
/// A body is refused in one short line, or read as another parser reads it. Then the answer is acceptable to
/// kube-apiserver: it has the version and uid of the request, and its patch applies.
pub fn review(body: &[u8]) {
    let review = match Review::parse(body) {
        Ok(review) => review,
        Err(error) => {
            refused(&error);
            return conversion(body);
        }
    };
    let Some(parsed) = std::str::from_utf8(body).ok().and_then(reference::value) else { return };
    assert_eq!(parsed["request"]["uid"], &*review.request.uid);
    assert_eq!(parsed["request"]["operation"], review.request.operation.as_str());
    assert_eq!(parsed["apiVersion"], ReviewKind::Admission.api_version(review.version));
    if let Some(name) = review.request.display_name() {
        assert!(name.chars().count() <= 253 + 5 && !name.contains(char::is_control), "{name}");
    }
    for hook in [Hook::mutating("hook", Label), Hook::mutating("hook", No), Hook::validating("hook", No)] {
        let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(1)).now_or_never();
        let answer = hook.answer(&review, verdict.expect("it waits for nothing"));
        match answer.status {
            200 => accepted(&answer.body, &parsed),
            500 => assert!(answer.body.len() < 300),
            other => panic!("status {other}"),
        }
    }
}

fn refused(error: &impl Display) {
    let words = error.to_string();
    assert!(words.chars().count() < 300 && !words.contains(char::is_control), "{words}");
}

fn conversion(body: &[u8]) {
    let review = match ConversionReview::parse(body) {
        Ok(review) => review,
        Err(error) => return refused(&error),
    };
    let hook = ConversionHook::new("hook", renamed);
    let pending = hook.convert(&review.request).now_or_never();
    // The conversion yields between objects, and no other task runs here.
    let Some(converted) = pending else { return };
    let answer: Value = serde_json::from_slice(&hook.answer(&review, &converted).body).expect("JSON");
    let response = &answer["response"];
    assert_eq!(response["uid"], &*review.request.uid);
    assert_eq!(response["result"]["status"] == "Success", converted.is_ok());
    let objects = response["convertedObjects"].as_array().map_or(0, Vec::len);
    assert_eq!(objects, converted.map_or(0, |objects| objects.len()));
}

/// The object with another `apiVersion`.
fn renamed(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    let mut object: Value = serde_json::from_str(object.get()).map_err(|_| Unconvertible::new("no value"))?;
    object
        .as_object_mut()
        .ok_or_else(|| Unconvertible::new("no object"))?
        .insert("apiVersion".to_owned(), desired.into());
    serde_json::value::to_raw_value(&object).map_err(Unconvertible::new)
}

fn accepted(body: &[u8], asked: &Value) {
    let answer: Value = serde_json::from_slice(body).expect("JSON");
    let response = &answer["response"];
    assert_eq!((&answer["apiVersion"], &answer["kind"]), (&asked["apiVersion"], &json!("AdmissionReview")));
    assert_eq!(response["uid"], asked["request"]["uid"]);
    assert_eq!(response["patch"].is_string(), response["patchType"].is_string());
    if let Some(patch) = response["patch"].as_str() {
        let patch: json_patch::Patch =
            serde_json::from_slice(&STANDARD.decode(patch).expect("base64")).expect("a patch");
        let mut object = asked["request"]["object"].clone();
        json_patch::patch(&mut object, &patch).expect("it applies");
        assert_eq!(object["metadata"]["labels"]["seen"], true);
    }
}

/// Adds a label to every object.
struct Label;

impl Handler for Label {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        Box::pin(async {
            request.object.map(View::of).and_then(label).map_or_else(Verdict::allowed, Verdict::mutated)
        })
    }
}

fn label(object: View<'_>) -> Option<Vec<Operation>> {
    let is_object = |view: View<'_>| view.kind() == Kind::Object;
    let add = |path: Pointer, value: &Value| {
        Some(Operation::Add { path, value: serde_json::value::to_raw_value(value).ok()?.into() })
    };
    is_object(object).then_some(())?;
    let metadata = Pointer::root().child("metadata");
    let labels = metadata.child("labels");
    let Some(found) = object.get("metadata").filter(|view| is_object(*view)) else {
        return Some(vec![add(metadata, &json!({"labels": {"seen": true}}))?]);
    };
    match found.get("labels").filter(|view| is_object(*view)) {
        Some(_) => Some(vec![add(labels.child("seen"), &json!(true))?]),
        None => Some(vec![add(labels, &json!({"seen": true}))?]),
    }
}

/// Denies with a message from the object.
struct No;

impl Handler for No {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _deadline: Instant) -> HandlerFuture<'a> {
        let words = request.display_name().map(std::borrow::Cow::into_owned).unwrap_or_default();
        Box::pin(async { Denial::new(words).into() })
    }
}
