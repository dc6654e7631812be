//! What a review is built from, and what kube-apiserver fills in.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{ApiResource, Operation, Review, ReviewError, ReviewVersion, User, body, uid};

/// What a review is built from. Everything has kube-apiserver's own default. No `Debug`: it holds the object.
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

    /// The name in the request; the object's own where nothing is said. Empty is none: a delete of a collection has none.
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
        let (body, uid_at) = body::encode(&self, &kind, &resource, &uid, &namespace)?;
        self.resource = Some(resource);
        Ok(Review { uid, body, uid_at, request: Arc::new(self) })
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

/// What the object says it is; `deployments/scale` carries a `Scale`.
pub(super) struct Kind {
    pub(super) api_version: String,
    pub(super) kind: String,
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
