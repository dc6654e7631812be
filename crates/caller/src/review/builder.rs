//! The builder of a review, which fills in what kube-apiserver fills in.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{GroupVersionKind, GroupVersionResource, Request, encode};
use super::{ApiResource, Operation, Review, ReviewError, ReviewVersion, User, uid};

/// Builds a review. Every value has kube-apiserver's own default. It has no `Debug`, since it holds the object.
#[derive(Clone)]
pub struct ReviewBuilder {
    pub(super) version: ReviewVersion,
    pub(super) uid: Option<String>,
    pub(super) operation: Operation,
    pub(super) object: Option<Value>,
    pub(super) old_object: Option<Value>,
    pub(super) resource: Option<ApiResource>,
    pub(super) requested: Option<ApiResource>,
    pub(super) subresource: String,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) user: User,
    pub(super) dry_run: bool,
    pub(super) options: Option<Value>,
    pub(super) traceparent: Option<String>,
}

impl ReviewBuilder {
    pub(super) fn new(operation: Operation, object: Option<Value>, old_object: Option<Value>) -> Self {
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

    /// The version of the review; v1 by default.
    #[must_use]
    pub fn version(mut self, version: ReviewVersion) -> Self {
        self.version = version;
        self
    }

    /// The uid; a random one by default.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        self.uid = Some(uid.to_owned());
        self
    }

    /// The resource that the hook's rule matched; needed for kinds that [`ApiResource::built_in`] does not know, and for subresources
    /// whose object is of another kind (`deployments/scale`).
    #[must_use]
    pub fn resource(mut self, resource: ApiResource) -> Self {
        self.resource = Some(resource);
        self
    }

    /// The resource of the user's request, if `matchPolicy: Equivalent` converted it (`requestKind`, `requestResource`).
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

    /// The name in the request; the object's own by default. An empty name is omitted, as in the delete of a collection.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// The namespace in the request's URL; by default the object's own, else `default`.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The user of the request.
    #[must_use]
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// Marks the request as a dry run.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The options object (`meta.k8s.io/v1 CreateOptions` or the like), in place of the options that the builder makes from the
    /// operation.
    #[must_use]
    pub fn options(mut self, options: Value) -> Self {
        self.options = Some(options);
        self
    }

    /// The W3C trace context that kube-apiserver would pass on.
    #[must_use]
    pub fn traceparent(mut self, traceparent: &str) -> Self {
        self.traceparent = Some(traceparent.to_owned());
        self
    }

    /// Fills in the values that kube-apiserver fills in, and encodes the review.
    ///
    /// # Errors
    /// kube-apiserver would refuse the request before any webhook sees it, or the resource of the kind is unknown.
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
        let namespace = self.fill_in_namespace(&resource)?;
        if self.options.is_none() {
            self.options = self.default_options();
        }
        let uid = match self.uid.take() {
            Some(uid) => uid,
            None => uid::fresh().ok_or(ReviewError::Randomness)?,
        };
        let (body, uid_at) = encode(self.version, self.request(&kind, &resource, &uid, &namespace))?;
        self.resource = Some(resource);
        Ok(Review { uid, body, uid_at, request: Arc::new(self) })
    }

    fn request<'a>(
        &'a self,
        kind: &'a Kind,
        resource: &'a ApiResource,
        uid: &'a str,
        namespace: &'a str,
    ) -> Request<'a> {
        let own_kind = GroupVersionKind::new(&kind.api_version, &kind.kind);
        let own_resource = GroupVersionResource::new(resource);
        let requested = self.requested.as_ref();
        Request {
            uid,
            kind: own_kind,
            resource: own_resource,
            sub_resource: &self.subresource,
            request_kind: requested.map_or(own_kind, |it| GroupVersionKind::new(it.api_version(), it.kind())),
            request_resource: requested.map_or(own_resource, GroupVersionResource::new),
            request_sub_resource: &self.subresource,
            name: self.name.as_deref().unwrap_or_default(),
            namespace,
            operation: self.operation,
            user_info: &self.user,
            object: self.object.as_ref(),
            old_object: self.old_object.as_ref(),
            dry_run: self.dry_run,
            options: self.options.as_ref(),
        }
    }

    /// The request's namespace, which is also written into objects without one.
    fn fill_in_namespace(&mut self, resource: &ApiResource) -> Result<String, ReviewError> {
        let subject = self.object.as_ref().or(self.old_object.as_ref());
        let own = subject.and_then(|subject| metadata(subject, "namespace"));
        if !resource.is_namespaced() {
            return match own {
                Some(own) => Err(ReviewError::Namespace { object: own.to_owned(), request: String::new() }),
                // The request of a Namespace has its own name as namespace.
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

/// The kind of the object, which is not always the resource's: `deployments/scale` has a `Scale`.
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
