//! An AdmissionReview as kube-apiserver sends it.

mod one_pass;
mod wire;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use vestibule_patch::{Document, DocumentError, Outline, View};

use crate::one_line::one_line;
use crate::{Notes, Operation, Trace};

/// The longest name of an object, in characters (RFC 1123 subdomain).
const LONGEST_NAME: usize = 253;

/// An AdmissionReview, borrowed from the request body.
#[non_exhaustive]
pub struct Review<'a> {
    /// The version of the answer.
    pub version: Version,
    /// The request.
    pub request: Request<'a>,
}

/// The kinds of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewKind {
    /// `AdmissionReview` of `admission.k8s.io`.
    Admission,
    /// `ConversionReview` of `apiextensions.k8s.io`.
    Conversion,
}

/// Versions of a review. The answer must have the version of the review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `v1`
    V1,
    /// `v1beta1`, sent only if a hook or a definition lists it first.
    V1beta1,
}

/// The operation and its object. There is no `Debug`, since the object may be a Secret.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request<'a> {
    /// The identifier of this call; a second call about the same object has another one.
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    /// The kind of the object, perhaps after a conversion for this hook.
    #[serde(borrow)]
    pub kind: Kind<'a>,
    /// The resource of the object, perhaps after a conversion for this hook.
    #[serde(borrow)]
    pub resource: Resource<'a>,
    /// `status`, `scale`, `exec` and so on.
    #[serde(borrow, default, deserialize_with = "wire::non_empty", rename = "subResource")]
    pub subresource: Option<Cow<'a, str>>,
    /// The kind in the user's request; it differs from `kind` if `matchPolicy: Equivalent` converted the object.
    #[serde(borrow, default)]
    pub request_kind: Option<Kind<'a>>,
    /// The resource in the user's request.
    #[serde(borrow, default)]
    pub request_resource: Option<Resource<'a>>,
    /// The object's name; absent on CREATE with `generateName`.
    #[serde(borrow, default, deserialize_with = "wire::non_empty")]
    pub name: Option<Cow<'a, str>>,
    /// The namespace; absent for cluster-scoped objects. An object that is being created may not contain it.
    #[serde(borrow, default, deserialize_with = "wire::non_empty")]
    pub namespace: Option<Cow<'a, str>>,
    /// The operation.
    pub operation: Operation,
    /// The user of the request.
    #[serde(borrow, rename = "userInfo", deserialize_with = "wire::user")]
    pub user: User<'a>,
    /// The new state of the object; absent on DELETE.
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
    /// The stored state of the object; absent on CREATE and CONNECT.
    #[serde(borrow, default)]
    pub old_object: Option<&'a RawValue>,
    /// The request's own options, such as `CreateOptions`.
    #[serde(borrow, default)]
    pub options: Option<&'a RawValue>,
    /// Whether this is a dry run: nothing is stored, and a handler must have no side effects.
    #[serde(default)]
    pub dry_run: bool,
    /// The trace context of the call. It is not in the review; the receiver sets it from the HTTP headers.
    #[serde(skip)]
    pub trace: Option<Trace>,
    /// Warnings and audit annotations of the handler, beside its verdict.
    #[serde(skip)]
    pub notes: Notes,
    /// The outline of the object, after it was read once.
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

/// The user of the request, as authenticated by the API server.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct User<'a> {
    /// `alice`, `system:serviceaccount:NAMESPACE:NAME`
    #[serde(borrow, default)]
    pub username: Cow<'a, str>,
    /// Distinguishes users that had the same name at different times.
    #[serde(borrow, default)]
    pub uid: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "wire::groups")]
    groups: Option<&'a RawValue>,
    /// Further attributes from the authenticator: an object of lists of strings.
    #[serde(borrow, default)]
    pub extra: Option<&'a RawValue>,
    /// All of this as it was received.
    #[serde(skip)]
    json: Option<&'a RawValue>,
}

/// Why a body is not a review. It is answered with HTTP 400, since a review as answer needs the uid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// The JSON is invalid, or a member of the envelope is missing or of another type. The text does not quote the body.
    #[error("the body is not {of}: {what} at line {line} column {column}")]
    Unreadable {
        /// The expected review.
        of: ReviewKind,
        /// The problem, in a few words and without a value.
        what: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// `apiVersion` or `kind` is another one.
    #[error("the body is not {0} of {v1} or {v1}beta1", v1 = .0.api_version(Version::V1))]
    OtherKind(ReviewKind),
    /// The review has no `request`; it may be an answer.
    #[error("the {} holds no request", .0.as_str())]
    NoRequest(ReviewKind),
    /// The uid is empty, so that no answer can refer to it.
    #[error("the {}'s request has no uid", .0.as_str())]
    NoUid(ReviewKind),
}

impl<'a> Review<'a> {
    /// Parses the envelope and not the object: the uid is known even if the object is invalid.
    ///
    /// # Errors
    /// The JSON is invalid, the document is of another kind, or a required member of the request is missing.
    pub fn parse(body: &'a [u8]) -> Result<Self, ReviewError> {
        let mut review = match one_pass::read(body) {
            Some(review) => review,
            None => {
                let (version, request) = ReviewKind::Admission.parse::<Request<'_>>(body)?;
                if request.uid.is_empty() {
                    return Err(ReviewError::NoUid(ReviewKind::Admission));
                }
                Self { version, request }
            }
        };
        let Request { operation, name, old_object, .. } = &mut review.request;
        // The deletion of a collection calls once for each object, and the request names none of them.
        if *operation == Operation::Delete && name.is_none() {
            *name = old_object.and_then(|old| View::of(old).get("metadata")?.get("name")?.as_str());
        }
        Ok(review)
    }
}

impl<'a> Request<'a> {
    /// The object as a document. Its grammar is read once, for the handler and for the check of its answer.
    ///
    /// # Errors
    /// The object nests too deeply.
    pub fn document(&self) -> Option<Result<Document<'a>, DocumentError>> {
        let text = self.object?.get();
        // The request borrows every object that it ever had, so two objects never have the same address.
        if let Some(document) = self.outline.get().and_then(|outline| Document::resume(text, outline)) {
            return Some(Ok(document));
        }
        let document = Document::parse(text);
        if let Ok(document) = &document {
            // An outline of another object that was set meanwhile is not reused.
            let _ = self.outline.set(document.outline());
        }
        Some(document)
    }

    /// Whether the object or the old object nests deeper than this many levels; `{}` is one.
    pub(crate) fn is_deeper_than(&self, levels: usize) -> bool {
        let objects = [self.object, self.old_object];
        objects.into_iter().flatten().any(|object| View::of(object).depth() > levels)
    }

    /// The prefix from which the API server will make a name, if the request has no name yet.
    pub fn generate_name(&self) -> Option<String> {
        let prefix = |object: View<'_>| {
            let prefix = object.get("metadata")?.get("generateName")?.as_str()?;
            (!prefix.is_empty()).then(|| prefix.into_owned())
        };
        match self.document()? {
            Ok(document) => prefix(document.view()),
            Err(_) => prefix(View::of(self.object?)),
        }
    }

    /// The name for people: the name, or `PREFIX*****` if it is yet to be made, or an empty text. On CREATE the API server has
    /// not validated the name yet, so it may be megabytes long or contain line breaks: it is brought to one line of at most 253
    /// characters, the length of the longest valid name.
    pub fn display_name(&self) -> Option<Cow<'_, str>> {
        let shown = match &self.name {
            Some(name) => one_line(name, LONGEST_NAME),
            None => one_line(&self.generate_name()?, LONGEST_NAME) + "*****",
        };
        Some(Cow::Owned(shown))
    }
}

impl User<'_> {
    /// The names of the user's groups. They are read at each call.
    pub fn groups(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.groups.into_iter().flat_map(|groups| View::of(groups).iter()).filter_map(View::as_str)
    }

    /// The `userInfo` of the request, byte by byte as it was received.
    pub fn as_json(&self) -> &str {
        self.json.map_or("{}", RawValue::get)
    }
}

impl Version {
    /// The name, without the group.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}

impl ReviewKind {
    /// The `kind` of the review.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "AdmissionReview",
            Self::Conversion => "ConversionReview",
        }
    }

    /// The `apiVersion` of reviews of this kind and `version`.
    pub fn api_version(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Admission, Version::V1) => "admission.k8s.io/v1",
            (Self::Admission, Version::V1beta1) => "admission.k8s.io/v1beta1",
            (Self::Conversion, Version::V1) => "apiextensions.k8s.io/v1",
            (Self::Conversion, Version::V1beta1) => "apiextensions.k8s.io/v1beta1",
        }
    }
}

impl fmt::Display for ReviewKind {
    /// With its article.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = if *self == Self::Admission { "an" } else { "a" };
        write!(formatter, "{article} {}", self.as_str())
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
