//! The question: an AdmissionReview as kube-apiserver sends it.

mod wire;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use vestibule_patch::{Document, DocumentError, Outline, View};

use crate::line::one_line;
use crate::{Notes, Operation, Trace};
pub(crate) use wire::{Envelope, trouble};

/// The longest name of an object, in characters (RFC 1123 subdomain).
const LONGEST_NAME: usize = 253;

/// An AdmissionReview, borrowed from the body it came in.
#[non_exhaustive]
pub struct Review<'a> {
    /// The version to answer in.
    pub version: Version,
    /// The question.
    pub request: Request<'a>,
}

/// Versions of `admission.k8s.io`. The answer must carry the version of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `admission.k8s.io/v1`
    V1,
    /// `admission.k8s.io/v1beta1`, sent only to hooks that list it first.
    V1beta1,
}

/// What is about to happen to which object. There is no `Debug`: the object may be somebody's Secret.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request<'a> {
    /// Names this call; new for every call, also for a second one about the same object.
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    /// The kind the object was converted to for this hook.
    #[serde(borrow)]
    pub kind: Kind<'a>,
    /// The resource the object was converted to for this hook.
    #[serde(borrow)]
    pub resource: Resource<'a>,
    /// `status`, `scale`, `exec` and so on.
    #[serde(borrow, default, deserialize_with = "wire::non_empty", rename = "subResource")]
    pub subresource: Option<Cow<'a, str>>,
    /// The kind the caller used; other than `kind` where `matchPolicy: Equivalent` converted.
    #[serde(borrow, default)]
    pub request_kind: Option<Kind<'a>>,
    /// The resource the caller used.
    #[serde(borrow, default)]
    pub request_resource: Option<Resource<'a>>,
    /// The object's name; absent on CREATE with `generateName`.
    #[serde(borrow, default, deserialize_with = "wire::non_empty")]
    pub name: Option<Cow<'a, str>>,
    /// The object's namespace; absent for cluster-scoped objects. An object in the making may not carry it itself.
    #[serde(borrow, default, deserialize_with = "wire::non_empty")]
    pub namespace: Option<Cow<'a, str>>,
    /// What is asked.
    pub operation: Operation,
    /// Who asks.
    #[serde(borrow, rename = "userInfo")]
    pub user: User<'a>,
    /// The object as it shall become; absent on DELETE.
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
    /// The object as it is; absent on CREATE and CONNECT.
    #[serde(borrow, default)]
    pub old_object: Option<&'a RawValue>,
    /// The request's own options, such as `CreateOptions`.
    #[serde(borrow, default)]
    pub options: Option<&'a RawValue>,
    /// Whether nothing will be stored: a handler then leaves no trace either.
    #[serde(default)]
    pub dry_run: bool,
    /// Where the call stands in a trace. No review says so: whoever received one knows it.
    #[serde(skip)]
    pub trace: Option<Trace>,
    /// Warnings and audit annotations of the handler, beside its verdict.
    #[serde(skip)]
    pub notes: Notes,
    /// The object's, once somebody has read it.
    #[serde(skip)]
    outline: OnceLock<Outline>,
}

/// A group, version and kind; the core group is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Kind<'a> {
    /// `apps`, or the empty string.
    #[serde(borrow)]
    pub group: Cow<'a, str>,
    /// `v1`
    #[serde(borrow)]
    pub version: Cow<'a, str>,
    /// `Deployment`
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
}

/// A group, version and resource; the core group is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Resource<'a> {
    /// `apps`, or the empty string.
    #[serde(borrow)]
    pub group: Cow<'a, str>,
    /// `v1`
    #[serde(borrow)]
    pub version: Cow<'a, str>,
    /// `deployments`
    #[serde(borrow)]
    pub resource: Cow<'a, str>,
}

/// The caller, as authenticated by the API server.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct User<'a> {
    /// `alice`, `system:serviceaccount:NAMESPACE:NAME`
    #[serde(borrow, default)]
    pub username: Cow<'a, str>,
    /// Tells users of one name apart over time.
    #[serde(borrow, default)]
    pub uid: Cow<'a, str>,
    /// Groups of the user.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whatever the authenticator adds: an object of lists of strings.
    #[serde(borrow, default)]
    pub extra: Option<&'a RawValue>,
}

/// Why a body is no review. Answered with HTTP 400: without a uid there is nothing else to say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// Broken JSON, or a member of the envelope is missing or of another type. The text of the body is not repeated.
    #[error("the body is not an AdmissionReview: {what} at line {line} column {column}")]
    Unreadable {
        /// In a few words, without a value.
        what: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// `apiVersion` or `kind` name something else.
    #[error("the body is not an AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1")]
    OtherKind,
    /// An AdmissionReview without `request`: an answer, perhaps.
    #[error("the AdmissionReview holds no request")]
    NoRequest,
    /// An empty uid cannot be echoed.
    #[error("the AdmissionReview's request has no uid")]
    NoUid,
}

impl<'a> Review<'a> {
    /// Reads the envelope and leaves the object alone: the uid is known even if the object is hostile.
    ///
    /// # Errors
    /// Broken JSON, another kind of document, a request without what every request has.
    pub fn parse(body: &'a [u8]) -> Result<Self, ReviewError> {
        let envelope: Envelope<'_, Request<'_>> =
            serde_json::from_slice(body).map_err(|error| wire::describe(body, &error))?;
        let version = envelope.version().ok_or(ReviewError::OtherKind)?;
        let request = envelope.request.ok_or(ReviewError::NoRequest)?;
        if request.uid.is_empty() {
            return Err(ReviewError::NoUid);
        }
        Ok(Self { version, request })
    }
}

impl<'a> Request<'a> {
    /// The object, read for its grammar once for all who ask: a handler, and the check of its answer.
    ///
    /// # Errors
    /// The object nests too deeply.
    pub fn document(&self) -> Option<Result<Document<'a>, DocumentError>> {
        let text = self.object?.get();
        // As long as a request is there, so is any object it ever had: none lies where another one lay.
        if let Some(document) = self.outline.get().and_then(|outline| Document::resume(text, outline)) {
            return Some(Ok(document));
        }
        let document = Document::parse(text);
        if let Ok(document) = &document {
            // Of another object that somebody has put here nothing is kept.
            let _ = self.outline.set(document.outline());
        }
        Some(document)
    }

    /// Whether the object, or the old one, nests deeper than so many levels; `{}` is one.
    pub(crate) fn is_deeper_than(&self, levels: usize) -> bool {
        let objects = [self.object, self.old_object];
        objects.into_iter().flatten().any(|object| View::of(object).depth() > levels)
    }

    /// The prefix the API server will make a name from, where the request has no name yet.
    pub fn generate_name(&self) -> Option<Cow<'_, str>> {
        let metadata = View::of(self.object?).get("metadata")?;
        metadata.get("generateName")?.as_str().filter(|prefix| !prefix.is_empty())
    }

    /// The name for people: the name, `PREFIX*****` for one yet to be made, or nothing. On CREATE the API server has not
    /// looked at the name yet, so it may be megabytes, or lines that look like somebody's log: it is brought to one line
    /// of 253 characters, as long as a name can be.
    pub fn display_name(&self) -> Option<Cow<'_, str>> {
        let shown = match &self.name {
            Some(name) => one_line(name, LONGEST_NAME),
            None => one_line(&self.generate_name()?, LONGEST_NAME) + "*****",
        };
        Some(Cow::Owned(shown))
    }
}

impl Version {
    /// The `apiVersion` of reviews of this version.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

impl fmt::Display for Kind<'_> {
    /// `apps/v1 Deployment`, or `v1 Pod` for the core group.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(formatter, "{}/", self.group)?;
        }
        write!(formatter, "{} {}", self.version, self.kind)
    }
}

#[cfg(test)]
mod tests;
