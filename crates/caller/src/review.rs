//! An AdmissionReview as kube-apiserver writes it.

mod body;
mod builder;
mod resource;
mod uid;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

pub use self::builder::ReviewBuilder;
pub use self::resource::ApiResource;

/// The version of `admission.k8s.io` that the review is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`.
    V1,
    /// `admission.k8s.io/v1beta1`: sent if a registration lists it first, and verified less strictly.
    V1Beta1,
}

/// The operation of the user's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// An object is created.
    Create,
    /// A stored object is changed.
    Update,
    /// A stored object is deleted.
    Delete,
    /// A stream is opened to a pod or service (`exec`, `attach`, `portforward`, `proxy`).
    Connect,
}

/// The user of the request (`authentication.k8s.io/v1 UserInfo`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The user's name.
    pub username: String,
    /// The user's uid, if the authenticator gives one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The user's groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Further attributes from the authenticator.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Default for User {
    /// The administrator of a cluster that kubeadm made.
    fn default() -> Self {
        Self {
            username: "kubernetes-admin".to_owned(),
            uid: String::new(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
            extra: BTreeMap::new(),
        }
    }
}

/// One encoded review. It has no `Debug`, since it holds the object.
///
/// ```
/// use serde_json::{Value, json};
/// use vestibule_caller::Review;
///
/// let review = Review::create(json!({
///     "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generateName": "web-"},
/// })).build()?;
/// let body: Value = serde_json::from_slice(review.body()).expect("JSON");
/// assert_eq!(body["request"]["resource"], json!({"group": "apps", "version": "v1", "resource": "deployments"}));
/// assert_eq!(body["request"]["object"]["metadata"]["namespace"], "default");
/// assert!(body["request"].get("name").is_none());
/// # Ok::<(), vestibule_caller::ReviewError>(())
/// ```
#[derive(Clone)]
pub struct Review {
    uid: String,
    body: Bytes,
    /// The position of the uid in the body.
    uid_at: Range<usize>,
    request: Arc<ReviewBuilder>,
}

impl Review {
    /// The review of an object that is created.
    pub fn create(object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Create, Some(object), None)
    }

    /// The review of an object that replaces a stored one.
    pub fn update(old_object: Value, object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Update, Some(object), Some(old_object))
    }

    /// The review of a stored object that is deleted.
    pub fn delete(old_object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Delete, None, Some(old_object))
    }

    /// The review of a stream to `resource`; `options` is a `PodExecOptions` or the like.
    pub fn connect(options: Value, resource: ApiResource, name: &str, subresource: &str) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Connect, Some(options), None)
            .resource(resource)
            .name(name)
            .subresource(subresource)
    }

    /// The same request with another state of the object, under a new uid: for the second call of a hook
    /// (`reinvocationPolicy: IfNeeded`), or for the next hook.
    ///
    /// # Errors
    /// See [`ReviewBuilder::build`].
    pub fn with_object(&self, object: Value) -> Result<Self, ReviewError> {
        let mut request = ReviewBuilder::clone(&self.request);
        request.object = Some(object);
        request.uid = None;
        request.build()
    }

    /// The same request under a new uid. The body is copied and not encoded again, which is faster for many calls.
    ///
    /// # Errors
    /// [`ReviewError::Randomness`]
    pub fn again(&self) -> Result<Self, ReviewError> {
        let uid = uid::fresh().ok_or(ReviewError::Randomness)?;
        let mut body = Vec::with_capacity(self.body.len() + uid.len());
        body.extend_from_slice(self.body.get(..self.uid_at.start).unwrap_or_default());
        body.extend_from_slice(uid.as_bytes());
        body.extend_from_slice(self.body.get(self.uid_at.end..).unwrap_or_default());
        let uid_at = self.uid_at.start..self.uid_at.start + uid.len();
        Ok(Self { uid, body: body.into(), uid_at, request: Arc::clone(&self.request) })
    }

    /// The uid that the answer must echo.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The version the review is written in.
    pub fn version(&self) -> ReviewVersion {
        self.request.version
    }

    /// The object as it is sent, with its namespace; [`None`] on DELETE.
    pub fn object(&self) -> Option<&Value> {
        self.request.object.as_ref()
    }

    /// The request's body: JSON as Go writes it, with a newline at its end.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn shared_body(&self) -> Bytes {
        self.body.clone()
    }

    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.request.traceparent.as_deref()
    }
}

/// Why a review cannot be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// The object has no `apiVersion` or `kind`.
    #[error("the object has no apiVersion and kind; add both")]
    NoKind,
    /// The table of built-in kinds does not have the kind.
    #[error("{api_version} {kind} is no known kind; name its resource with ReviewBuilder::resource")]
    UnknownKind {
        /// The object's `apiVersion`.
        api_version: String,
        /// The object's `kind`.
        kind: String,
    },
    /// Object and request are in different namespaces, or a cluster-scoped object names one.
    #[error(
        "the namespace of the object ({object:?}) is not that of the request ({request:?}); make them the same"
    )]
    Namespace {
        /// `metadata.namespace`.
        object: String,
        /// The namespace of the request; empty for a cluster-scoped resource.
        request: String,
    },
    /// The system has no random numbers for a uid.
    #[error("no random number for a fresh uid; hand one in with ReviewBuilder::uid")]
    Randomness,
    /// The review cannot be encoded as JSON.
    #[error("the review cannot be written as JSON")]
    Encode(#[from] serde_json::Error),
}
