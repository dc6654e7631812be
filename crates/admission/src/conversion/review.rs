//! A ConversionReview as kube-apiserver sends it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{ReviewError, ReviewKind, Trace, Version};

/// A ConversionReview, borrowed from the request body.
#[non_exhaustive]
pub struct ConversionReview<'a> {
    /// The version of the answer.
    pub version: Version,
    /// The request.
    pub request: ConversionRequest<'a>,
}

/// The objects to convert, and the desired version. There is no `Debug`, since objects may hold secrets.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversionRequest<'a> {
    /// The identifier of this call.
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    /// The desired version, such as `example.com/v2`.
    #[serde(borrow, rename = "desiredAPIVersion")]
    pub desired_api_version: Cow<'a, str>,
    /// Objects of one resource, of any of its versions.
    #[serde(borrow, default, deserialize_with = "null_as_none")]
    pub objects: Vec<&'a RawValue>,
    /// The trace context of the call. It is not in the review; the receiver sets it from the HTTP headers.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

impl<'a> ConversionReview<'a> {
    /// Parses the envelope, and no object.
    ///
    /// # Errors
    /// The JSON is invalid, the document is of another kind, or a required member of the request is missing.
    pub fn parse(body: &'a [u8]) -> Result<Self, ReviewError> {
        let (version, request) = ReviewKind::Conversion.parse::<ConversionRequest<'_>>(body)?;
        if request.uid.is_empty() {
            return Err(ReviewError::NoUid(ReviewKind::Conversion));
        }
        Ok(Self { version, request })
    }
}

/// Go writes an empty list as `null`.
fn null_as_none<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'a RawValue>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
