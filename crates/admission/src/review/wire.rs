//! The envelope's shape on the wire.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::{ReviewError, Version};

/// A review, or whatever else was sent: with any `R` it says what it is.
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

/// kube-apiserver leaves empty strings out; other callers write them. Both mean: there is none.
pub(super) fn non_empty<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let text = Option::<Text<'a>>::deserialize(deserializer)?;
    Ok(text.map(|text| text.0).filter(|text| !text.is_empty()))
}

/// serde's own words quote the value they stumbled over; only the place and the kind of trouble may be told.
///
/// A request that another version of the review may well hold is no reason to name one of its members.
pub(super) fn describe(body: &[u8], error: &serde_json::Error) -> ReviewError {
    if let Ok(envelope) = serde_json::from_slice::<Envelope<'_, IgnoredAny>>(body)
        && envelope.version().is_none()
    {
        return ReviewError::OtherKind;
    }
    ReviewError::Unreadable { what: trouble(error), line: error.line(), column: error.column() }
}

/// What is wrong with a body, in a few words and without a value.
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

/// Member names come from our own types, so they are safe to repeat.
fn missing_field(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let (field, _) = text.strip_prefix("missing field `")?.split_once('`')?;
    Some(field.to_owned())
}
