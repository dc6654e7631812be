//! The request of a call, apart from its object.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use vestibule_admission::{Kind, Notes, Operation, Request, Resource};

use crate::handler::raw_object::RawObject;
use crate::lookup::looked_up::LookedUp;
use crate::lookup::{Lookup, Lookups};

/// The request, as a handler sees it; also takes warnings and audit annotations. Cheap to clone.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::{Change, Context, Reject, deny};
///
/// async fn guard(_: Change<Pod>, context: Context) -> Result<(), Reject> {
///     if context.namespace() == Some("vault") && !context.user().groups.iter().any(|group| group == "keepers") {
///         return Err(deny(format!("{} may not", context.user().username)));
///     }
///     if context.dry_run() {
///         context.warn("nothing is stored");
///     }
///     context.audit("name", context.name().or(context.generate_name()).unwrap_or("none"));
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    call: Arc<Call>,
    /// Whether an earlier handler of a chain may have changed the object.
    is_after_another: bool,
}

struct Call {
    lookups: Lookups,
    uid: String,
    operation: Operation,
    kind: [String; 3],
    request_kind: [String; 3],
    resource: [String; 3],
    request_resource: [String; 3],
    subresource: Option<String>,
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    user: User,
    dry_run: bool,
    options: Option<RawObject>,
    object: Option<RawObject>,
    old_object: Option<RawObject>,
    deadline: Instant,
    notes: Notes,
}

/// The user of the request, as authenticated by the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// `alice`, `system:serviceaccount:NAMESPACE:NAME`
    pub username: String,
    /// Distinguishes users that had the same name at different times.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// Attributes that the authenticator adds, such as the pod's name for a ServiceAccount.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Context {
    pub(crate) fn new(request: &Request<'_>, deadline: Instant, lookups: Lookups) -> Self {
        let Request { user, .. } = request;
        let kind = |kind: &Kind<'_>| [&kind.group, &kind.version, &kind.kind].map(ToString::to_string);
        let resource = |resource: &Resource<'_>| {
            [&resource.group, &resource.version, &resource.resource].map(ToString::to_string)
        };
        let raw = |value: Option<&RawValue>| value.map(|value| RawObject::new(value, None));
        let document = request.document().and_then(Result::ok);
        let call = Call {
            lookups,
            uid: request.uid.to_string(),
            operation: request.operation,
            kind: kind(&request.kind),
            request_kind: kind(request.request_kind.as_ref().unwrap_or(&request.kind)),
            resource: resource(&request.resource),
            request_resource: resource(request.request_resource.as_ref().unwrap_or(&request.resource)),
            subresource: request.subresource.as_deref().map(str::to_owned),
            name: request.name.as_deref().map(str::to_owned),
            generate_name: request.generate_name(),
            namespace: request.namespace.as_deref().map(str::to_owned),
            user: User {
                username: user.username.to_string(),
                uid: user.uid.to_string(),
                groups: user.groups().map(Cow::into_owned).collect(),
                extra: extra(user.extra),
            },
            dry_run: request.dry_run,
            options: raw(request.options),
            object: request.object.map(|object| RawObject::new(object, document.as_ref())),
            old_object: raw(request.old_object),
            deadline,
            notes: request.notes.clone(),
        };
        Self { call: Arc::new(call), is_after_another: false }
    }

    /// The uid of this call. A second call for the same object has another.
    pub fn uid(&self) -> &str {
        &self.call.uid
    }

    /// The operation. An UPDATE may have been a PUT, a PATCH or a server-side apply.
    pub fn operation(&self) -> Operation {
        self.call.operation
    }

    /// Group, version and kind of the object; the core group is the empty string.
    pub fn kind(&self) -> (&str, &str, &str) {
        triple(&self.call.kind)
    }

    /// The kind the caller used; another than [`Context::kind`] where the API server converted the object for this hook.
    pub fn request_kind(&self) -> (&str, &str, &str) {
        triple(&self.call.request_kind)
    }

    /// Group, version and resource; the core group is the empty string.
    pub fn resource(&self) -> (&str, &str, &str) {
        triple(&self.call.resource)
    }

    /// The resource the caller used.
    pub fn request_resource(&self) -> (&str, &str, &str) {
        triple(&self.call.request_resource)
    }

    /// `status`, `scale` and so on.
    pub fn subresource(&self) -> Option<&str> {
        self.call.subresource.as_deref()
    }

    /// The object's name, also of each object of a collection that is deleted; absent while the API server has yet to make one from
    /// [`Context::generate_name`].
    pub fn name(&self) -> Option<&str> {
        self.call.name.as_deref()
    }

    /// The prefix from which the API server will generate a name.
    pub fn generate_name(&self) -> Option<&str> {
        self.call.generate_name.as_deref()
    }

    /// The request's namespace; absent for cluster-scoped objects. For a Namespace, it is the name of that Namespace. The object
    /// itself may not carry it yet.
    pub fn namespace(&self) -> Option<&str> {
        self.call.namespace.as_deref()
    }

    /// The user of the request.
    pub fn user(&self) -> &User {
        &self.call.user
    }

    /// Whether nothing will be stored: the handler must have no side effects then.
    pub fn dry_run(&self) -> bool {
        self.call.dry_run
    }

    /// The request's own options, such as `CreateOptions`; CONNECT has none.
    pub fn options(&self) -> Option<&RawObject> {
        self.call.options.as_ref()
    }

    /// The object byte by byte as it was received, before any handler saw it; absent on DELETE.
    pub fn raw(&self) -> Option<&RawObject> {
        self.call.object.as_ref()
    }

    /// The object as it is stored, byte by byte as it was received; absent on CREATE and CONNECT.
    pub fn old_raw(&self) -> Option<&RawObject> {
        self.call.old_object.as_ref()
    }

    /// Other objects of the cluster, of a type that the app [watches](crate::App::watch) or [reads](crate::App::read).
    pub fn lookup<T: LookedUp>(&self) -> Lookup<T> {
        Lookup::new(&self.call.lookups, self.namespace(), self.deadline())
    }

    /// The instant at which the call must have its answer.
    pub fn deadline(&self) -> Instant {
        self.call.deadline
    }

    /// The time left for an answer.
    pub fn remaining(&self) -> Duration {
        self.call.deadline.saturating_duration_since(Instant::now())
    }

    /// Adds a warning for the user, which kubectl prints after `Warning:`. Each line is a warning of its own.
    ///
    /// The warning is sent even if the handler fails, panics or misses its deadline afterwards, unless `failurePolicy` decides:
    /// then the answer is HTTP 500, which carries no warnings.
    pub fn warn(&self, warning: impl AsRef<str>) {
        self.call.notes.warn(warning.as_ref());
    }

    /// Adds an annotation to the API server's audit log; it is sent as [`Context::warn`] is. Never put a secret there: many people
    /// read audit logs.
    pub fn audit(&self, key: &str, value: impl Into<String>) {
        self.call.notes.audit(key, value);
    }

    /// The same call for a later handler of a chain, whose object may differ from the received one.
    pub(crate) fn after_another(&self) -> Self {
        Self { call: Arc::clone(&self.call), is_after_another: true }
    }

    /// The received object, for the first handler of a chain.
    pub(crate) fn received(&self) -> Option<&RawObject> {
        self.raw().filter(|_| !self.is_after_another)
    }
}

fn triple([group, version, name]: &[String; 3]) -> (&str, &str, &str) {
    (group, version, name)
}

/// Empty, if it is not a map of lists of strings.
fn extra(extra: Option<&RawValue>) -> BTreeMap<String, Vec<String>> {
    extra.and_then(|extra| serde_json::from_str(extra.get()).ok()).unwrap_or_default()
}
