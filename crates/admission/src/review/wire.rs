//! The JSON shape of the envelope.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::{ReviewError, Version};

/// A review, or another document: with any `R` its `apiVersion` and `kind` are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a, R> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default = "Option::default")]
    pub(crate) request: Option<R>,
}

impl<R> Envelope<'_, R> {
    /// `apiVersion` and `kind`
    pub(crate) fn names(&self) -> (&str, &str) {
        (&self.api_version, &self.kind)
    }

    pub(super) fn version(&self) -> Option<Version> {
        match self.names() {
            ("admission.k8s.io/v1", "AdmissionReview") => Some(Version::V1),
            ("admission.k8s.io/v1beta1", "AdmissionReview") => Some(Version::V1beta1),
            _ => None,
        }
    }
}

/// kube-apiserver omits empty strings, other callers write them. Both mean that there is none.
pub(super) fn non_empty<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let text = Option::<Text<'a>>::deserialize(deserializer)?;
    Ok(text.map(|text| text.0).filter(|text| !text.is_empty()))
}

/// serde's own text quotes the value at which it failed; only the position and the kind of problem may be repeated.
///
/// The error for a review of another version names no member of it, since that version may have it.
pub(super) fn describe(body: &[u8], error: &serde_json::Error) -> ReviewError {
    if let Ok(envelope) = serde_json::from_slice::<Envelope<'_, IgnoredAny>>(body)
        && envelope.version().is_none()
    {
        return ReviewError::OtherKind;
    }
    ReviewError::Unreadable { what: trouble(error), line: error.line(), column: error.column() }
}

/// The problem of a body, in a few words and without a value.
pub(crate) fn trouble(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "it ends too early".to_owned(),
        Category::Syntax | Category::Io => "it is not JSON".to_owned(),
        Category::Data => missing_field(error).map_or_else(
            || "a member has another type or value".to_owned(),
            |field| format!("`{field}` is missing"),
        ),
    }
}

/// The names of members are those of our own types, so they may be repeated.
fn missing_field(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let (field, _) = text.strip_prefix("missing field `")?.split_once('`')?;
    Some(field.to_owned())
}
