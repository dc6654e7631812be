//! The JSON shape of the envelope.

use std::borrow::Cow;

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use vestibule_patch::{Kind, View};

use super::{ReviewError, ReviewKind, User, Version};

/// A review, or another document: with any `R` its `apiVersion` and `kind` are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a, R> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default = "Option::default")]
    request: Option<R>,
}

impl ReviewKind {
    /// Parses the envelope of a review of this kind.
    pub(crate) fn parse<'a, R: Deserialize<'a>>(self, body: &'a [u8]) -> Result<(Version, R), ReviewError> {
        let envelope: Envelope<'_, R> =
            serde_json::from_slice(body).map_err(|error| self.describe(body, &error))?;
        let version =
            self.version(&envelope.kind, &envelope.api_version).ok_or(ReviewError::OtherKind(self))?;
        Ok((version, envelope.request.ok_or(ReviewError::NoRequest(self))?))
    }

    /// The version of a document with this `kind` and `apiVersion`, if it is a review of this kind.
    pub(super) fn version(self, kind: &str, api_version: &str) -> Option<Version> {
        let is = |version: &Version| kind == self.as_str() && api_version == self.api_version(*version);
        [Version::V1, Version::V1beta1].into_iter().find(is)
    }

    /// serde's own text quotes the value at which it failed; only the position and the kind of problem may be repeated.
    ///
    /// The error for a document of another kind or version names no member of it, since that may have it.
    fn describe(self, body: &[u8], error: &serde_json::Error) -> ReviewError {
        match serde_json::from_slice::<Envelope<'_, IgnoredAny>>(body) {
            Ok(other) if self.version(&other.kind, &other.api_version).is_none() => {
                ReviewError::OtherKind(self)
            }
            _ => ReviewError::Unreadable {
                of: self,
                what: problem(error),
                line: error.line(),
                column: error.column(),
            },
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

/// The user, with the text of its members.
pub(super) fn user<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<User<'a>, D::Error> {
    let json = <&'a RawValue>::deserialize(deserializer)?;
    // The text of the error has a line and column of the user, which would be taken for those of the body.
    let user = serde_json::from_str(json.get()).map_err(|_| D::Error::custom("the user has another type"))?;
    Ok(User { json: Some(json), ..user })
}

/// The user's groups, checked and not copied: most handlers do not ask for them.
pub(super) fn groups<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    let groups = <&'a RawValue>::deserialize(deserializer)?;
    if is_list_of_strings(groups) {
        return Ok(Some(groups));
    }
    Err(D::Error::custom("the groups are no list of strings"))
}

pub(super) fn is_list_of_strings(value: &RawValue) -> bool {
    let view = View::of(value);
    view.kind() == Kind::Array && view.iter().all(|item| item.kind() == Kind::String)
}

/// The problem of a body, in a few words and without a value.
fn problem(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "it ends too early".to_owned(),
        Category::Syntax | Category::Io => "it is not JSON".to_owned(),
        Category::Data => missing_field(error).map_or_else(
            || "a member has another type or value".to_owned(),
            |field| format!("`{field}` is missing"),
        ),
    }
}

/// The name is a member of our own types, so the message may repeat it.
fn missing_field(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let (field, _) = text.strip_prefix("missing field `")?.split_once('`')?;
    Some(field.to_owned())
}
