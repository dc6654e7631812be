//! Malformed reviews, and the allowed answers to them.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::{Mutations, reference};

mod connection;

pub use connection::Connection;

/// A canary in every string of the reviews except the uid; it must not be in an answer.
pub const CANARY: &str = "canary4711";

/// An endless iterator of distinct bodies, deterministic for a seed: first known difficult bodies, then mutations of them and
/// of the given bodies.
pub struct Malformed {
    known: std::vec::IntoIter<Vec<u8>>,
    mutations: Mutations,
    seen: HashSet<u64>,
}

impl Malformed {
    /// Mutations of `bodies` and of the known difficult ones.
    pub fn new(bodies: impl IntoIterator<Item = Vec<u8>>, seed: u64) -> Self {
        let mut seeds: Vec<Vec<u8>> = bodies.into_iter().map(marked).collect();
        let known: Vec<Vec<u8>> = nuisances();
        seeds.extend(known.iter().filter(|body| body.len() < 10_000).cloned());
        Self { known: known.into_iter(), mutations: Mutations::new(seeds, seed), seen: HashSet::new() }
    }
}

impl Iterator for Malformed {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let body = self.known.next().or_else(|| self.mutations.next())?;
            let mut hasher = DefaultHasher::new();
            body.hash(&mut hasher);
            if self.seen.insert(hasher.finish()) {
                return Some(body);
            }
        }
    }
}

/// Checks an answer: a 4xx or 500 with one short line, or a review with the version and uid of the request. It may quote
/// nothing of the request but the uid.
///
/// # Errors
/// The answer is not allowed.
pub fn allowed(sent: &[u8], status: u16, answer: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(answer).map_err(|_| "it is no text".to_owned())?;
    if status != 200 {
        return match status {
            400..=500 if text.lines().count() > 1 || text.chars().count() > 300 => {
                Err(format!("{status}: {text}"))
            }
            400..=500 if text.contains(CANARY) => Err(format!("{status} quotes what was sent")),
            400..=500 => Ok(()),
            other => Err(format!("status {other}")),
        };
    }
    let review: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let response = &review["response"];
    let uid = response["uid"].as_str().ok_or("no uid")?;
    if review["kind"] != "AdmissionReview" || !response["allowed"].is_boolean() {
        return Err("it is no review".to_owned());
    }
    // The reference parser cannot read this body, so there is nothing to compare.
    if let Some(asked) = std::str::from_utf8(sent).ok().and_then(reference::value)
        && (asked["request"]["uid"] != uid || asked["apiVersion"] != review["apiVersion"])
    {
        return Err("it is a review of something else".to_owned());
    }
    let mut rest = review.clone();
    rest["response"]["uid"] = Value::Null;
    if rest.to_string().contains(CANARY) { Err("a review quotes what was sent".to_owned()) } else { Ok(()) }
}

/// A recorded review with the canary in its strings.
fn marked(body: Vec<u8>) -> Vec<u8> {
    let Ok(mut review) = serde_json::from_slice::<Value>(&body) else { return body };
    for member in ["object", "oldObject", "userInfo"] {
        if let Some(part) = review.get_mut("request").and_then(|request| request.get_mut(member)) {
            mark(part);
        }
    }
    review.to_string().into_bytes()
}

fn mark(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(CANARY),
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(members) => {
            members
                .iter_mut()
                .filter(|(key, _)| !["apiVersion", "kind"].contains(&key.as_str()))
                .for_each(|(_, it)| mark(it));
        }
        _ => {}
    }
}

/// A review of a ConfigMap with this data.
fn about(data: &str) -> String {
    review(&format!(
        r#""uid":"u","operation":"CREATE","object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{CANARY}"}},"data":{data}}}"#
    ))
}

fn review(members: &str) -> String {
    let kind = r#""kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},"userInfo":{"username":"canary4711"},"dryRun":false"#;
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{{kind},{members}}}}}"#
    )
}

fn nuisances() -> Vec<Vec<u8>> {
    let nested = |depth: usize| about(&("[".repeat(depth) + &"]".repeat(depth)));
    let uid = |uid: &str| review(&format!(r#""uid":{uid},"operation":"CREATE","object":null"#));
    let operation =
        |operation: &str| review(&format!(r#""uid":"u","operation":"{operation}","object":null"#));
    let mut texts: Vec<String> = [126, 127, 128, 129, 1_000, 100_000].into_iter().map(nested).collect();
    texts.extend([
        about(&format!("[{}0]", "0,".repeat(1_000_000))),
        about(&format!(
            "{{{}\"z\":0}}",
            (0..100_000).map(|key| format!("\"k{key}\":0,")).collect::<String>()
        )),
        about("1e400"),
        about("-0.0"),
        about("123456789012345678901234567890"),
        about(r#"{"a":"\ud800"}"#),
        about(r#"{"a":"\ud83d\ude00\u0000"}"#),
        about(r#"{"a":1,"a":2}"#),
        format!("\u{feff}{}", about("{}")),
        about("{}") + " {}",
        about("{}") + CANARY,
        about(&format!(r#"{{"a":"{CANARY}","#)),
        uid("\"\""),
        uid("null"),
        uid("7"),
        uid(&format!("\"{}\"", "u".repeat(1 << 20))),
        uid(r#""a\nb""#),
        uid(r#""<script>alert(1)</script>""#),
        uid(r#""\u0000\u001b[31m""#),
        operation("CREATE"),
        operation("DELETE"),
        operation("CONNECT"),
        operation("canary4711"),
        operation(""),
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}"#.to_owned(),
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#.to_owned(),
        r#"{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"u"}}"#.to_owned(),
        r#"{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}}"#.to_owned(),
        r#"{"apiVersion":"canary4711","kind":"canary4711"}"#.to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "\"canary4711\"".to_owned(),
        String::new(),
        " ".repeat(1000),
    ]);
    let mut bodies: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    bodies.push(b"\xff\xfe\x00c\x00a".to_vec());
    bodies.push(about("\"~\"").replace('~', "\u{1}").into_bytes());
    let mut broken = about("\"~\"").into_bytes();
    broken.iter_mut().filter(|byte| **byte == b'~').for_each(|byte| *byte = 0xff);
    bodies.push(broken);
    bodies
}
