//! The envelope's shape on the wire.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::{Request, ReviewError};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) request: Option<Request<'a>>,
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
pub(super) fn describe(error: &serde_json::Error) -> ReviewError {
    let what = match error.classify() {
        Category::Eof => "it ends too early".to_owned(),
        Category::Syntax | Category::Io => "it is not JSON".to_owned(),
        Category::Data => missing_field(error).map_or_else(
            || "a member has another type or value".to_owned(),
            |field| format!("`{field}` is missing"),
        ),
    };
    ReviewError::Unreadable { what, line: error.line(), column: error.column() }
}

/// Member names come from our own types, so they are safe to repeat.
fn missing_field(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let (field, _) = text.strip_prefix("missing field `")?.split_once('`')?;
    Some(field.to_owned())
}
