//! Encodes a review as Go's `encoding/json` does: members in the order of the Go types, strings with its escapes.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::{ApiResource, Operation, ReviewVersion, User};

const UID: &[u8] = br#""uid":"#;

/// Encodes a review; returns its body, and where the uid stands in it.
pub(super) fn encode(
    version: ReviewVersion,
    request: Request<'_>,
) -> serde_json::Result<(Bytes, Range<usize>)> {
    let uid = request.uid;
    let envelope = Envelope { kind: "AdmissionReview", api_version: version.api_version(), request };
    let mut body = written(&envelope)?;
    body.push(b'\n');
    // The uid is the first member of the request, and no member before it has this name.
    let before = body.windows(UID.len()).position(|window| window == UID).unwrap_or_default() + UID.len();
    let uid_at = before + 1..before + written(&uid)?.len() - 1;
    Ok((body.into(), uid_at))
}

fn written(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, GoFormatter))?;
    Ok(text)
}

impl ReviewVersion {
    /// The review's `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: Request<'a>,
}

/// `AdmissionRequest`: an absent object is `null`, and an empty string is omitted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    pub(super) uid: &'a str,
    pub(super) kind: GroupVersionKind<'a>,
    pub(super) resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) sub_resource: &'a str,
    pub(super) request_kind: GroupVersionKind<'a>,
    pub(super) request_resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) namespace: &'a str,
    pub(super) operation: Operation,
    pub(super) user_info: &'a User,
    pub(super) object: Option<&'a Value>,
    pub(super) old_object: Option<&'a Value>,
    pub(super) dry_run: bool,
    pub(super) options: Option<&'a Value>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct GroupVersionKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> GroupVersionKind<'a> {
    pub(super) fn new(api_version: &'a str, kind: &'a str) -> Self {
        let (group, version) = group_and_version(api_version);
        Self { group, version, kind }
    }
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct GroupVersionResource<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

impl<'a> GroupVersionResource<'a> {
    pub(super) fn new(resource: &'a ApiResource) -> Self {
        let (group, version) = group_and_version(resource.api_version());
        Self { group, version, resource: resource.plural() }
    }
}

fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Go escapes `<`, `>`, `&`, U+2028 and U+2029 in every string, member names included.
struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            let mut characters = special.chars();
            let code = characters.next().map_or(0, u32::from);
            CompactFormatter.write_string_fragment(out, plain)?;
            write!(out, "\\u{code:04x}")?;
            rest = characters.as_str();
        }
        CompactFormatter.write_string_fragment(out, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_go_does() {
        let text = "a<b>&\u{2028}\u{2029}\"\\\n\u{1}\u{7f}é/";
        let out = written(&text).unwrap();
        let expected = r#""a\u003cb\u003e\u0026\u2028\u2029\"\\\n\u0001"#.to_owned() + "\u{7f}é/\"";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
