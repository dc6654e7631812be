//! Decodes an AdmissionReview, with the error texts of client-go's decoder.

use serde_json::{Map, Value};

use super::{json, status};
use crate::answer::Answer;
use crate::review::ReviewVersion;

/// The group and kind every answer must be of.
const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";

/// Reads the review of an answer; the error is client-go's text.
pub(super) fn read(sent: ReviewVersion, answer: &Answer) -> Result<Value, String> {
    if let Some(content_type) = &answer.content_type
        && !is_media_type(content_type)
    {
        return Err("Internal error occurred: mime: no media type".to_owned());
    }
    if !(200..=206).contains(&answer.status) {
        return Err(status::message(answer));
    }
    if answer.body.is_empty() {
        let content_type = answer.content_type.as_deref().unwrap_or("application/json");
        let status = answer.status;
        return Err(format!("0-length response with status code: {status} and content type: {content_type}"));
    }
    let review = parse(&answer.body)?;
    check_type(&review, sent)?;
    Ok(review)
}

/// Whether it is `type` or `type/subtype`, with any parameters.
fn is_media_type(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is_token =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    essence.split_once('/').map_or(is_token(essence), |(main, sub)| is_token(main) && is_token(sub))
}

/// Parses JSON, or YAML if the body does not begin with `{`. The last of duplicate members counts, invalid UTF-8 is replaced, and a
/// byte order mark is skipped.
fn parse(body: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let failed = |error: String| format!("couldn't get version/kind; json parse error: {error}");
    let review: Value = if text.trim_start().starts_with('{') {
        json::parse(text.as_bytes()).map_err(failed)?
    } else {
        serde_saphyr::from_str(text).map_err(|_| failed("it is neither JSON nor YAML".to_owned()))?
    };
    match review {
        Value::Object(_) => Ok(review),
        Value::Null => Ok(Value::Object(Map::new())),
        other => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into an object",
            type_name(&other)
        )),
    }
}

/// A missing apiVersion or kind counts as the expected one; the decoder has no Go type for others.
fn check_type(review: &Value, sent: ReviewVersion) -> Result<(), String> {
    let api_version = text(review, "apiVersion")?.unwrap_or(sent.api_version());
    let kind = text(review, "kind")?.unwrap_or(KIND);
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    match version {
        Some("v1" | "v1beta1") if kind == KIND && api_version == sent.api_version() => Ok(()),
        Some(got @ ("v1" | "v1beta1")) if kind == KIND => Err(format!(
            "converting ({got}.AdmissionReview) to ({}.AdmissionReview): unknown conversion",
            if got == "v1" { "v1beta1" } else { "v1" }
        )),
        // `Status` is registered in every version of every group.
        _ if (api_version, kind) == ("v1", "Status") => Err(format!(
            "converting (v1.Status) to ({}.AdmissionReview): unknown conversion",
            sent.api_version().strip_prefix("admission.k8s.io/").unwrap_or_default()
        )),
        _ => Err(format!("no kind {kind:?} is registered for version {api_version:?}")),
    }
}

/// A member that is a string and not empty.
pub(super) fn text<'a>(review: &'a Value, field: &str) -> Result<Option<&'a str>, String> {
    match review.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(other) => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into field {field} of type string",
            type_name(other)
        )),
    }
}

/// Go's name of the type of a JSON value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
