//! Builds a request to a hook, and makes the call.

use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vestibule_caller::{ApiResource, Review, ReviewBuilder, ReviewVersion, User};

use super::matching::{self, RequestFacts};
use super::outcome::Outcome;
use super::pipeline::{Pipeline, parse};
use vestibule::{App, Objects, Target};

/// Calls the hook of this name as kube-apiserver would, once the request says what it is about.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use serde_json::json;
/// use vestibule::Operation::{Create, Delete};
/// use vestibule::{App, Change, Context, Reject, deny, on, FailurePolicy};
///
/// async fn keep(change: Change<Pod>, _: Context) -> Result<(), Reject> {
///     match change {
///         Change::Delete { .. } => Err(deny("it stays")),
///         _ => Ok(()),
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let app = App::new("demo").validate("keep", on::<Pod>([Create, Delete]).failure_policy(FailurePolicy::Fail), keep);
/// let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" } });
/// vestibule_test::call(&app, "keep").create(&pod).dry_run().await.assert_allowed();
/// vestibule_test::call(&app, "keep").delete(&pod).by("alice").in_group("staff").await.assert_denied("it stays");
/// # });
/// ```
///
/// # Panics
/// The app is not in order, or has no such hook; the message names what it has.
#[track_caller]
pub fn call(app: &App, hook: &str) -> Call {
    if let Err(error) = app.check() {
        panic!("{error}");
    }
    let names: Vec<_> = app.hooks().iter().map(|hook| &*hook.entry.name).collect();
    let Some(hook) = names.iter().position(|name| *name == hook) else {
        let names = match names.as_slice() {
            [] => "none: conversions are called by a real API server only, see `Cluster`".to_owned(),
            names => names.join(", "),
        };
        panic!("the webhook `{}` has no hook `{hook}`; it has {names}", app.name());
    };
    Call { app: app.clone(), hook }
}

/// A hook that is about to be called.
#[must_use = "say what happens to which object: `.create(..)`, `.update(..)`, `.delete(..)` or `.connect(..)`"]
pub struct Call {
    app: App,
    /// The index of the hook in the app.
    hook: usize,
}

/// A request about an object; `.await` makes the call.
///
/// Unset parts have defaults: the user is the administrator; the namespace is the object's namespace, else `default`.
#[must_use = "nothing is called until it is awaited"]
pub struct Request {
    app: App,
    hook: usize,
    review: ReviewBuilder,
    /// The object, else the old one.
    subject: Value,
    /// `metadata` of the new object and of the stored one.
    metadata: Vec<Value>,
    parts: RequestParts,
}

/// The parts of a request besides its objects and options; `request.yaml` of a golden case.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RequestParts {
    user: Option<String>,
    /// Besides the user's.
    groups: Vec<String>,
    namespace: Option<String>,
    namespace_labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    subresource: Option<String>,
    /// In plural.
    resource: Option<String>,
    cluster_scoped: bool,
    dry_run: bool,
}

impl Call {
    /// A new object: a typed one, or any JSON with `apiVersion` and `kind`.
    #[track_caller]
    pub fn create(self, object: impl Serialize) -> Request {
        let object = json(&object);
        Request::new(self, Review::create(object.clone()), &[object])
    }

    /// An object in the place of a stored one.
    #[track_caller]
    pub fn update(self, old: impl Serialize, new: impl Serialize) -> Request {
        let (old, new) = (json(&old), json(&new));
        let review = Review::update(old.clone(), new.clone());
        Request::new(self, review, &[new, old])
    }

    /// The request deletes this stored object.
    #[track_caller]
    pub fn delete(self, old: impl Serialize) -> Request {
        let old = json(&old);
        Request::new(self, Review::delete(old.clone()), &[old])
    }

    /// A stream, with its options: `{"apiVersion": "v1", "kind": "PodExecOptions", ..}`. [`Request::named`] names
    /// the object; the hook's own rules name the resource and subresource.
    #[track_caller]
    pub fn connect(self, options: impl Serialize) -> Request {
        let options = json(&options);
        // Both are settled when the call is made.
        let review = Review::connect(options.clone(), ApiResource::namespaced("v1", "Pod", "pods"), "", "");
        Request::new(self, review, &[options])
    }
}

impl Request {
    fn new(Call { app, hook }: Call, review: ReviewBuilder, objects: &[Value]) -> Self {
        Self {
            app,
            hook,
            review,
            subject: objects.first().cloned().unwrap_or_default(),
            metadata: objects.iter().filter_map(|object| object.get("metadata").cloned()).collect(),
            parts: RequestParts::default(),
        }
    }

    pub(super) fn with_parts(self, parts: RequestParts) -> Self {
        Self { parts, ..self }
    }

    /// This user asks, in the groups of any authenticated one: `alice`, `system:serviceaccount:NAMESPACE:NAME`.
    pub fn by(mut self, user: &str) -> Self {
        self.parts.user = Some(user.to_owned());
        self
    }

    /// The user is in this group too.
    pub fn in_group(mut self, group: &str) -> Self {
        self.parts.groups.push(group.to_owned());
        self
    }

    /// Nothing will be stored (`kubectl --dry-run=server`).
    pub fn dry_run(mut self) -> Self {
        self.parts.dry_run = true;
        self
    }

    /// The namespace of the request.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.parts.namespace = Some(namespace.to_owned());
        self
    }

    /// The labels of the namespace, besides its name. Without this call every requirement of the hook's namespace
    /// selector counts as met, except for names: in `kube-system`, `kube-public`, `kube-node-lease` and the namespace
    /// that [`App::service`] names, a hook is called only if it is registered there.
    pub fn namespace_labels<'l>(mut self, labels: impl IntoIterator<Item = (&'l str, &'l str)>) -> Self {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        self.parts.namespace_labels = Some(labels.into_iter().map(owned).collect());
        self
    }

    /// The objects that the handler's lookups find, in place of the objects of [`App::lookups_from`].
    pub fn with(mut self, objects: Objects) -> Self {
        self.app = self.app.lookups_from(objects);
        self
    }

    /// The name in the request, where the object does not carry it.
    pub fn named(mut self, name: &str) -> Self {
        self.parts.name = Some(name.to_owned());
        self
    }

    /// `status`, `scale` and so on. Unless given, the one that all of the hook's rules name, if there is one.
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.parts.subresource = Some(subresource.to_owned());
        self
    }

    /// The resource, in plural: `widgets`. Needed where neither Kubernetes nor the hook's rules say how the object's kind
    /// is served.
    pub fn resource(mut self, plural: &str) -> Self {
        self.parts.resource = Some(plural.to_owned());
        self
    }

    /// The object's kind lives outside namespaces. The kinds of Kubernetes itself are known.
    pub fn cluster_scoped(mut self) -> Self {
        self.parts.cluster_scoped = true;
        self
    }

    /// The request's own options (`meta.k8s.io/v1 CreateOptions` and so on), in place of the default options of the
    /// operation.
    #[track_caller]
    pub fn options(mut self, options: impl Serialize) -> Self {
        self.review = self.review.options(json(&options));
        self
    }

    /// Sends the review as `v1beta1`, as an API server does if the hook lists `v1beta1` first.
    pub fn v1beta1(mut self) -> Self {
        self.review = self.review.version(ReviewVersion::V1Beta1);
        self
    }

    async fn send(self) -> Outcome {
        let Self { app, hook, review, subject, metadata, parts } = self;
        let entry = &app.hooks()[hook].entry;
        let subresource = parts.subresource.or_else(|| matching::subresource(entry)).unwrap_or_default();
        let resource = matching::resource(
            entry,
            &subject,
            parts.resource.as_deref(),
            Some(&*subresource).filter(|subresource| !subresource.is_empty()),
            parts.cluster_scoped,
        );
        let resource = resource.unwrap_or_else(|why| panic!("hook `{}`: {why}", entry.name));
        let mut user = parts.user.map_or_else(User::default, |username| {
            let groups = vec!["system:authenticated".to_owned()];
            User { username, groups, ..User::default() }
        });
        user.groups.extend(parts.groups);
        let mut review = review.resource(resource.clone()).user(user).subresource(&subresource);
        if let Some(namespace) = &parts.namespace {
            review = review.namespace(namespace);
        }
        if let Some(name) = &parts.name {
            review = review.name(name);
        }
        if parts.dry_run {
            review = review.dry_run();
        }
        let review = review.build().unwrap_or_else(|error| panic!("hook `{}`: {error}", entry.name));
        let entries = app.entries_calling(entry);
        let service = app.defaults().service.as_deref().and_then(|name| Target::service(name).ok());
        let called_by = {
            let facts = RequestFacts {
                request: &parse(&review).request,
                resource: &resource,
                metadata: &metadata,
                namespace_labels: parts.namespace_labels.as_ref(),
                own_namespace: service.as_ref().and_then(Target::own_namespace),
            };
            matching::called_by(&entries, &facts)
        };
        let pipeline = Pipeline::of(&app, hook, called_by.as_ref().map_or(entry, |entry| entry));
        let reply = match called_by {
            Err(why) => Err(why),
            Ok(_) => Ok(pipeline.run(&review).await),
        };
        Outcome { pipeline, review, reply }
    }
}

impl IntoFuture for Request {
    type Output = Outcome;
    type IntoFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

#[track_caller]
fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object)
        .unwrap_or_else(|error| panic!("the object cannot be written as JSON: {error}"))
}
