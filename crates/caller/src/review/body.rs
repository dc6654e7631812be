//! The review's bytes: members in the order of the Go types, strings escaped as Go's `encoding/json` does.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::builder::Kind;
use super::{ApiResource, Operation, ReviewBuilder, ReviewVersion, User};

const UID: &[u8] = br#""uid":"#;

/// The body, and where the uid stands in it.
pub(super) fn encode(
    review: &ReviewBuilder,
    kind: &Kind,
    resource: &ApiResource,
    uid: &str,
    namespace: &str,
) -> serde_json::Result<(Bytes, Range<usize>)> {
    let own_kind = GroupVersionKind::new(&kind.api_version, &kind.kind);
    let own_resource = GroupVersionResource::new(resource);
    let requested = review.requested.as_ref();
    let envelope = Envelope {
        kind: "AdmissionReview",
        api_version: review.version.api_version(),
        request: Request {
            uid,
            kind: own_kind,
            resource: own_resource,
            sub_resource: &review.subresource,
            request_kind: requested.map_or(own_kind, |it| GroupVersionKind::new(it.api_version(), it.kind())),
            request_resource: requested.map_or(own_resource, GroupVersionResource::new),
            request_sub_resource: &review.subresource,
            name: review.name.as_deref().unwrap_or_default(),
            namespace,
            operation: review.operation,
            user_info: &review.user,
            object: review.object.as_ref(),
            old_object: review.old_object.as_ref(),
            dry_run: review.dry_run,
            options: review.options.as_ref(),
        },
    };
    let mut body = written(&envelope)?;
    body.push(b'\n');
    // The uid is the first member of the request, and nothing before that is called so.
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

/// `AdmissionRequest`: an absent object is `null`, an empty string is left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: &'a str,
    kind: GroupVersionKind<'a>,
    resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: GroupVersionKind<'a>,
    request_resource: GroupVersionResource<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: Operation,
    user_info: &'a User,
    object: Option<&'a Value>,
    old_object: Option<&'a Value>,
    dry_run: bool,
    options: Option<&'a Value>,
}

#[derive(Clone, Copy, Serialize)]
struct GroupVersionKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> GroupVersionKind<'a> {
    fn new(api_version: &'a str, kind: &'a str) -> Self {
        let (group, version) = group_and_version(api_version);
        Self { group, version, kind }
    }
}

#[derive(Clone, Copy, Serialize)]
struct GroupVersionResource<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

impl<'a> GroupVersionResource<'a> {
    fn new(resource: &'a ApiResource) -> Self {
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
