//! A ConversionReview as kube-apiserver sends it.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Trace;
use crate::review::{Envelope, trouble};

/// A ConversionReview, borrowed from the request body.
#[non_exhaustive]
pub struct ConversionReview<'a> {
    /// The version of the answer.
    pub version: ConversionVersion,
    /// The request.
    pub request: ConversionRequest<'a>,
}

/// Versions of `apiextensions.k8s.io`. The answer must have the version of the review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionVersion {
    /// `apiextensions.k8s.io/v1`
    V1,
    /// `apiextensions.k8s.io/v1beta1`, sent only if a definition lists it first.
    V1beta1,
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

/// Why a body is not a review. It is answered with HTTP 400, since a review as answer needs the uid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionReviewError {
    /// The JSON is invalid, or a member of the envelope is missing or of another type. The text does not quote the body.
    #[error("the body is not a ConversionReview: {what} at line {line} column {column}")]
    Unreadable {
        /// The problem, in a few words and without a value.
        what: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// `apiVersion` or `kind` is another one.
    #[error("the body is not a ConversionReview of apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1")]
    OtherKind,
    /// The review has no `request`; it may be an answer.
    #[error("the ConversionReview holds no request")]
    NoRequest,
    /// The uid is empty, so that no answer can refer to it.
    #[error("the ConversionReview's request has no uid")]
    NoUid,
}

impl<'a> ConversionReview<'a> {
    /// Parses the envelope, and no object.
    ///
    /// # Errors
    /// The JSON is invalid, the document is of another kind, or a required member of the request is missing.
    pub fn parse(body: &'a [u8]) -> Result<Self, ConversionReviewError> {
        let envelope: Envelope<'_, ConversionRequest<'_>> =
            serde_json::from_slice(body).map_err(|error| unreadable(body, &error))?;
        let version = version(&envelope).ok_or(ConversionReviewError::OtherKind)?;
        let request = envelope.request.ok_or(ConversionReviewError::NoRequest)?;
        if request.uid.is_empty() {
            return Err(ConversionReviewError::NoUid);
        }
        Ok(Self { version, request })
    }
}

impl ConversionVersion {
    /// The `apiVersion` of reviews of this version.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }
}

/// Go writes an empty list as `null`.
fn null_as_none<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'a RawValue>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn version<R>(envelope: &Envelope<'_, R>) -> Option<ConversionVersion> {
    match envelope.names() {
        ("apiextensions.k8s.io/v1", "ConversionReview") => Some(ConversionVersion::V1),
        ("apiextensions.k8s.io/v1beta1", "ConversionReview") => Some(ConversionVersion::V1beta1),
        _ => None,
    }
}

/// The error for a document of another kind names none of its members.
fn unreadable(body: &[u8], error: &serde_json::Error) -> ConversionReviewError {
    match serde_json::from_slice::<Envelope<'_, IgnoredAny>>(body) {
        Ok(envelope) if version(&envelope).is_none() => ConversionReviewError::OtherKind,
        _ => ConversionReviewError::Unreadable {
            what: trouble(error),
            line: error.line(),
            column: error.column(),
        },
    }
}
