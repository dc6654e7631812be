//! The texts of client-go for an HTTP status that is no success.

use serde_json::Value;

use super::json;
use crate::answer::Answer;

/// The most bytes of a text body that are quoted.
const QUOTED: usize = 2048;

/// The message of the `Status` in the answer, else the text for its HTTP status.
pub(super) fn message(answer: &Answer) -> String {
    status_object(&answer.body).unwrap_or_else(|| generic(answer.status, &quote(answer)))
}

fn status_object(body: &[u8]) -> Option<String> {
    let status = json::parse(body).ok()?;
    let is = |field: &str, value: &str| status.get(field).and_then(Value::as_str) == Some(value);
    let of_status = is("kind", "Status") && is("status", "Failure");
    let versioned = status.get("apiVersion").is_none() || is("apiVersion", "v1");
    (of_status && versioned)
        .then(|| status.get("message").and_then(Value::as_str).unwrap_or_default().to_owned())
}

fn quote(answer: &Answer) -> String {
    let media_type = answer.content_type.as_deref().unwrap_or("text/plain");
    if !media_type.trim_start().to_ascii_lowercase().starts_with("text/") {
        return "unknown".to_owned();
    }
    let quoted = answer.body.get(..QUOTED).unwrap_or(&answer.body);
    String::from_utf8_lossy(quoted).trim().to_owned()
}

fn generic(code: u16, text: &str) -> String {
    let sentence = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 | 415 => text,
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if text.is_empty() || text == "unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        406 => text,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            return format!("an error on the server ({text:?}) has prevented the request from succeeding");
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    sentence.to_owned()
}
