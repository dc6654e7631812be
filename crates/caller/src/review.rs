//! An AdmissionReview as kube-apiserver writes it.

mod body;
mod resource;
mod uid;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

pub use resource::ApiResource;

/// The version of `admission.k8s.io` that the review is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`.
    V1,
    /// `admission.k8s.io/v1beta1`: sent where a registration lists it first, and judged less strictly.
    V1Beta1,
}

/// What the user does to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// A new object.
    Create,
    /// A stored object changes.
    Update,
    /// A stored object goes.
    Delete,
    /// A stream to a pod or service (`exec`, `attach`, `portforward`, `proxy`).
    Connect,
}

/// Who asks (`authentication.k8s.io/v1 UserInfo`, without `extra`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The user's name.
    pub username: String,
    /// The user's groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

impl Default for User {
    /// The administrator that kubeadm sets up.
    fn default() -> Self {
        Self {
            username: "kubernetes-admin".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        }
    }
}

/// One review, encoded and ready to be sent. No `Debug`: it holds the object.
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
    request: ReviewBuilder,
}

impl Review {
    /// The review of an object that is created.
    pub fn create(object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Create, Some(object), None)
    }

    /// The review of an object that takes the place of a stored one.
    pub fn update(old_object: Value, object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Update, Some(object), Some(old_object))
    }

    /// The review of a stored object that is deleted.
    pub fn delete(old_object: Value) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Delete, None, Some(old_object))
    }

    /// The review of a stream: `options` is a `PodExecOptions` or the like, `resource` what is connected to.
    pub fn connect(options: Value, resource: ApiResource, name: &str, subresource: &str) -> ReviewBuilder {
        ReviewBuilder::new(Operation::Connect, Some(options), None)
            .resource(resource)
            .name(name)
            .subresource(subresource)
    }

    /// The same request about another state of the object, under a fresh uid: the second call of a hook
    /// (`reinvocationPolicy: IfNeeded`), or the next hook's.
    ///
    /// # Errors
    /// See [`ReviewBuilder::build`].
    pub fn with_object(&self, object: Value) -> Result<Self, ReviewError> {
        let mut request = self.request.clone();
        request.object = Some(object);
        request.uid = None;
        request.build()
    }

    /// The uid that the answer must echo.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The version the review is written in.
    pub fn version(&self) -> ReviewVersion {
        self.request.version
    }

    /// The object as it is sent, namespace filled in; `None` on DELETE.
    pub fn object(&self) -> Option<&Value> {
        self.request.object.as_ref()
    }

    /// The request's body: JSON as Go writes it, ended by a newline.
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

/// What a review is built from. Everything has kube-apiserver's own default. No `Debug`: it holds the object.
#[derive(Clone)]
pub struct ReviewBuilder {
    version: ReviewVersion,
    uid: Option<String>,
    operation: Operation,
    object: Option<Value>,
    old_object: Option<Value>,
    resource: Option<ApiResource>,
    requested: Option<ApiResource>,
    subresource: String,
    name: Option<String>,
    namespace: Option<String>,
    user: User,
    dry_run: bool,
    options: Option<Value>,
    traceparent: Option<String>,
}

impl ReviewBuilder {
    fn new(operation: Operation, object: Option<Value>, old_object: Option<Value>) -> Self {
        Self {
            version: ReviewVersion::V1,
            uid: None,
            operation,
            object,
            old_object,
            resource: None,
            requested: None,
            subresource: String::new(),
            name: None,
            namespace: None,
            user: User::default(),
            dry_run: false,
            options: None,
            traceparent: None,
        }
    }

    /// The version to write; v1 where nothing is said.
    #[must_use]
    pub fn version(mut self, version: ReviewVersion) -> Self {
        self.version = version;
        self
    }

    /// The uid, where it must be known beforehand; fresh and random where nothing is said.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        self.uid = Some(uid.to_owned());
        self
    }

    /// The resource that the hook's rule matched; needed for kinds that [`ApiResource::built_in`] does not know, and
    /// for subresources whose object is of another kind (`deployments/scale`).
    #[must_use]
    pub fn resource(mut self, resource: ApiResource) -> Self {
        self.resource = Some(resource);
        self
    }

    /// What the user really asked for, where `matchPolicy: Equivalent` converted it (`requestKind`,
    /// `requestResource`).
    #[must_use]
    pub fn requested_as(mut self, requested: ApiResource) -> Self {
        self.requested = Some(requested);
        self
    }

    /// The subresource, such as `status` or `scale`.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        subresource.clone_into(&mut self.subresource);
        self
    }

    /// The name in the request; the object's own where nothing is said.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The namespace in the request's URL; the object's own, else `default`, where nothing is said.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Who asks.
    #[must_use]
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Marks the request as one that must change nothing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The options object (`meta.k8s.io/v1 CreateOptions` or the like), in place of the one made from the operation.
    #[must_use]
    pub fn options(mut self, options: Value) -> Self {
        self.options = Some(options);
        self
    }

    /// The W3C trace context that kube-apiserver would hand on.
    #[must_use]
    pub fn traceparent(mut self, traceparent: &str) -> Self {
        self.traceparent = Some(traceparent.to_owned());
        self
    }

    /// Fills in what kube-apiserver fills in, and encodes.
    ///
    /// # Errors
    /// Where kube-apiserver would refuse the request before any webhook sees it, or cannot know the resource.
    pub fn build(mut self) -> Result<Review, ReviewError> {
        let subject = self.object.as_ref().or(self.old_object.as_ref()).ok_or(ReviewError::NoKind)?;
        let kind = Kind::of(subject).ok_or(ReviewError::NoKind)?;
        let resource = match self.resource.take() {
            Some(resource) => resource,
            None => kind.resource()?,
        };
        if self.name.is_none() {
            self.name = metadata(subject, "name").map(str::to_owned);
        }
        let namespace = self.settle_namespace(&resource)?;
        if self.options.is_none() {
            self.options = self.default_options();
        }
        let uid = match self.uid.take() {
            Some(uid) => uid,
            None => uid::fresh().ok_or(ReviewError::Randomness)?,
        };
        let body = body::encode(&self, &kind, &resource, &uid, &namespace)?;
        self.resource = Some(resource);
        Ok(Review { uid, body, request: self })
    }

    /// The request's namespace; written into the objects where theirs is missing.
    fn settle_namespace(&mut self, resource: &ApiResource) -> Result<String, ReviewError> {
        let subject = self.object.as_ref().or(self.old_object.as_ref());
        let own = subject.and_then(|subject| metadata(subject, "namespace"));
        if !resource.is_namespaced() {
            return match own {
                Some(own) => Err(ReviewError::Namespace { object: own.to_owned(), request: String::new() }),
                // A Namespace is reviewed as if it stood in itself.
                None if resource.is_namespace() => Ok(self.name.clone().unwrap_or_default()),
                None => Ok(String::new()),
            };
        }
        let namespace = self.namespace.as_deref().or(own).unwrap_or("default").to_owned();
        if let Some(own) = own
            && own != namespace
        {
            return Err(ReviewError::Namespace { object: own.to_owned(), request: namespace });
        }
        // The options object of a stream has no metadata.
        if self.operation != Operation::Connect {
            for object in [&mut self.object, &mut self.old_object].into_iter().flatten() {
                fill_namespace(object, &namespace);
            }
        }
        Ok(namespace)
    }

    fn default_options(&self) -> Option<Value> {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return None,
        };
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.dry_run
            && let Some(options) = options.as_object_mut()
        {
            options.insert("dryRun".to_owned(), json!(["All"]));
        }
        Some(options)
    }
}

/// Why there is no review.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReviewError {
    /// The object does not say what it is.
    #[error("the object has no apiVersion and kind; add both")]
    NoKind,
    /// The table of built-in kinds does not know it.
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
    /// JSON could not be written.
    #[error("the review cannot be written as JSON")]
    Encode(#[from] serde_json::Error),
}

/// What the object says it is; `deployments/scale` carries a `Scale`.
struct Kind {
    api_version: String,
    kind: String,
}

impl Kind {
    fn of(object: &Value) -> Option<Self> {
        let text = |field| object.get(field)?.as_str().filter(|text: &&str| !text.is_empty());
        Some(Self { api_version: text("apiVersion")?.to_owned(), kind: text("kind")?.to_owned() })
    }

    fn resource(&self) -> Result<ApiResource, ReviewError> {
        ApiResource::built_in(&self.api_version, &self.kind).ok_or_else(|| ReviewError::UnknownKind {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
        })
    }
}

fn metadata<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str().filter(|value| !value.is_empty())
}

fn fill_namespace(object: &mut Value, namespace: &str) {
    let metadata = object.as_object_mut().map(|object| object.entry("metadata").or_insert_with(|| json!({})));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
}
