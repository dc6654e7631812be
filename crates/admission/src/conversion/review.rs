//! The question: a ConversionReview as kube-apiserver sends it.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Trace;
use crate::review::{Envelope, trouble};

/// A ConversionReview, borrowed from the body it came in.
#[non_exhaustive]
pub struct ConversionReview<'a> {
    /// The version to answer in.
    pub version: ConversionVersion,
    /// The question.
    pub request: ConversionRequest<'a>,
}

/// Versions of `apiextensions.k8s.io`. The answer must carry the version of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionVersion {
    /// `apiextensions.k8s.io/v1`
    V1,
    /// `apiextensions.k8s.io/v1beta1`, sent only where a definition lists it first.
    V1beta1,
}

/// Which objects are wanted in which version. There is no `Debug`: an object may hold what nobody else may read.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversionRequest<'a> {
    /// Names this call.
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    /// The version wanted: `example.com/v2`.
    #[serde(borrow, rename = "desiredAPIVersion")]
    pub desired_api_version: Cow<'a, str>,
    /// Objects of one resource, of any of its versions.
    #[serde(borrow, default, deserialize_with = "null_as_none")]
    pub objects: Vec<&'a RawValue>,
    /// Where the call stands in a trace. No review says so: whoever received one knows it.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

/// Why a body is no review. Answered with HTTP 400: without a uid there is nothing else to say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionReviewError {
    /// Broken JSON, or a member of the envelope is missing or of another type. The text of the body is not repeated.
    #[error("the body is not a ConversionReview: {what} at line {line} column {column}")]
    Unreadable {
        /// In a few words, without a value.
        what: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// `apiVersion` or `kind` name something else.
    #[error("the body is not a ConversionReview of apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1")]
    OtherKind,
    /// A ConversionReview without `request`: an answer, perhaps.
    #[error("the ConversionReview holds no request")]
    NoRequest,
    /// An empty uid cannot be echoed.
    #[error("the ConversionReview's request has no uid")]
    NoUid,
}

impl<'a> ConversionReview<'a> {
    /// Reads the envelope and leaves the objects alone.
    ///
    /// # Errors
    /// Broken JSON, another kind of document, a request without what every request has.
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

/// Go writes a list without items as `null`.
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

/// A request of some other document is no reason to name one of its members.
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
