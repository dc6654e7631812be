//! The answers of a webhook server in the rows of the table.

use k8s_openapi::ByteString;
use serde_json::{Value, json};
use vestibule_testenv::{Answer, Recorded};

/// Stands for the uid of the request.
pub(crate) const UID: &str = "UID";

/// One answer.
#[derive(Clone)]
pub(crate) enum ServerAnswer {
    Http { status: u16, headers: Vec<(&'static str, &'static str)>, body: Vec<u8>, compressed: bool },
    Silence,
    HangUp,
}

/// A body of JSON.
pub(crate) fn json(status: u16, body: &Value) -> ServerAnswer {
    raw(status, body.to_string())
}

/// A body that is called JSON.
pub(crate) fn raw(status: u16, body: impl AsRef<[u8]>) -> ServerAnswer {
    let body = body.as_ref().to_vec();
    ServerAnswer::Http {
        status,
        headers: vec![("content-type", "application/json")],
        body,
        compressed: false,
    }
}

/// A body of text.
pub(crate) fn text(status: u16, body: &str) -> ServerAnswer {
    raw(status, body).typed("text/plain; charset=utf-8")
}

/// 200 and a v1 review around a response.
pub(crate) fn response(response: &Value) -> ServerAnswer {
    json(200, &review(response))
}

/// 200, allowed, and these members beside it.
pub(crate) fn allowed(members: &Value) -> ServerAnswer {
    response(&with(json!({ "uid": UID, "allowed": true }), members))
}

/// 200, not allowed, with this status.
pub(crate) fn denied(status: &Value) -> ServerAnswer {
    response(&json!({ "uid": UID, "allowed": false, "status": status }))
}

/// 200, allowed, with any JSON as the patch.
pub(crate) fn patched(patch: &Value) -> ServerAnswer {
    allowed(&json!({ "patchType": "JSONPatch", "patch": base64(&patch.to_string()) }))
}

/// An operation on the object.
pub(crate) fn step(op: &str, path: &str, value: &Value) -> ServerAnswer {
    patched(&json!([{ "op": op, "path": path, "value": value }]))
}

pub(crate) fn review(response: &Value) -> Value {
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

pub(crate) fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

fn with(mut value: Value, members: &Value) -> Value {
    value.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    value
}

impl ServerAnswer {
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value));
        }
        self
    }

    pub(crate) fn typed(self, content_type: &'static str) -> Self {
        self.header("content-type", content_type)
    }

    pub(crate) fn untyped(mut self) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.clear();
        }
        self
    }

    /// Compressed for a client that asks for that.
    pub(crate) fn compressed(mut self) -> Self {
        if let Self::Http { compressed, .. } = &mut self {
            *compressed = true;
        }
        self
    }

    pub(crate) fn to(&self, seen: &Recorded) -> Answer {
        match self {
            Self::Silence => Answer::Silence,
            Self::HangUp => Answer::HangUp,
            Self::Http { status, headers, body, compressed } => {
                let review = seen.review();
                let uid = review["request"]["uid"].as_str().unwrap_or_default();
                let mut body = replaced(body, UID.as_bytes(), uid.as_bytes());
                let mut headers: Vec<_> =
                    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
                if *compressed && seen.header("accept-encoding") == Some("gzip") {
                    body = gzip(&body);
                    headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
                }
                Answer::Http { status: *status, headers, body }
            }
        }
    }
}

fn replaced(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match body.windows(from.len()).position(|window| window == from) {
        Some(at) => [&body[..at], to, &replaced(&body[at + from.len()..], from, to)].concat(),
        None => body.to_vec(),
    }
}

/// RFC 1952 around one block that is not compressed (RFC 1951).
fn gzip(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap();
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()));
    }
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(body);
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(length).to_le_bytes());
    out
}
