//! The request beside the object.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use vestibule_admission::{Kind, Notes, Operation, Request, Resource};

use crate::handler::environment::Environment;
use crate::handler::raw_object::RawObject;
use crate::handler::state::MissingState;
use crate::lookup::{LookedUp, Lookup};

/// What a handler knows about the request, and a place to leave words for the user. Cheap to clone.
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
    /// Whether another handler of a chain may have changed the object already.
    behind: bool,
}

struct Call {
    environment: Environment,
    uid: String,
    operation: Operation,
    kind: [String; 3],
    request_kind: Option<[String; 3]>,
    resource: [String; 3],
    request_resource: Option<[String; 3]>,
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

/// Who asks, as authenticated by the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// `alice`, `system:serviceaccount:NAMESPACE:NAME`
    pub username: String,
    /// Tells users of one name apart over time.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// Whatever the authenticator adds; for ServiceAccounts the pod's name, for one.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Context {
    pub(crate) fn new(request: &Request<'_>, deadline: Instant, environment: Environment) -> Self {
        let Request { user, .. } = request;
        let kind = |kind: &Kind<'_>| [&kind.group, &kind.version, &kind.kind].map(ToString::to_string);
        let resource = |resource: &Resource<'_>| {
            [&resource.group, &resource.version, &resource.resource].map(ToString::to_string)
        };
        let raw = |object: Option<&RawValue>| object.map(RawObject::new);
        let call = Call {
            environment,
            uid: request.uid.to_string(),
            operation: request.operation,
            kind: kind(&request.kind),
            request_kind: request.request_kind.as_ref().map(kind),
            resource: resource(&request.resource),
            request_resource: request.request_resource.as_ref().map(resource),
            subresource: request.subresource.as_deref().map(str::to_owned),
            name: request.name.as_deref().map(str::to_owned),
            generate_name: request.generate_name().map(std::borrow::Cow::into_owned),
            namespace: request.namespace.as_deref().map(str::to_owned),
            user: User {
                username: user.username.to_string(),
                uid: user.uid.to_string(),
                groups: user.groups.clone(),
                extra: extra(user.extra),
            },
            dry_run: request.dry_run,
            options: raw(request.options),
            object: raw(request.object),
            old_object: raw(request.old_object),
            deadline,
            notes: request.notes.clone(),
        };
        Self { call: Arc::new(call), behind: false }
    }

    /// Names this call. A second call about the same object has another.
    pub fn uid(&self) -> &str {
        &self.call.uid
    }

    /// What is asked. An UPDATE may have been a PUT, a PATCH or a server-side apply.
    pub fn operation(&self) -> Operation {
        self.call.operation
    }

    /// Group, version and kind of the object; the core group is the empty string.
    pub fn kind(&self) -> (&str, &str, &str) {
        triple(&self.call.kind)
    }

    /// The kind the caller used; another than [`Context::kind`] where the API server converted the object for this hook.
    pub fn request_kind(&self) -> (&str, &str, &str) {
        triple(self.call.request_kind.as_ref().unwrap_or(&self.call.kind))
    }

    /// Group, version and resource; the core group is the empty string.
    pub fn resource(&self) -> (&str, &str, &str) {
        triple(&self.call.resource)
    }

    /// The resource the caller used.
    pub fn request_resource(&self) -> (&str, &str, &str) {
        triple(self.call.request_resource.as_ref().unwrap_or(&self.call.resource))
    }

    /// `status`, `scale` and so on.
    pub fn subresource(&self) -> Option<&str> {
        self.call.subresource.as_deref()
    }

    /// The object's name; absent while the API server has yet to make one from [`Context::generate_name`].
    pub fn name(&self) -> Option<&str> {
        self.call.name.as_deref()
    }

    /// The prefix of a name yet to be made.
    pub fn generate_name(&self) -> Option<&str> {
        self.call.generate_name.as_deref()
    }

    /// The request's namespace; absent for cluster-scoped objects, but for a Namespace, whose own name it is. The object
    /// itself may not carry it yet.
    pub fn namespace(&self) -> Option<&str> {
        self.call.namespace.as_deref()
    }

    /// Who asks.
    pub fn user(&self) -> &User {
        &self.call.user
    }

    /// Whether nothing will be stored: leave no trace elsewhere either.
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

    /// What the app was given by [`App::state`](crate::App::state), by its type.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use vestibule::{Context, Reject};
    ///
    /// struct Team(String);
    ///
    /// async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    ///     let Team(team) = context.state()?;
    ///     pod.metadata.labels.get_or_insert_default().insert("team".to_owned(), team.clone());
    ///     Ok(pod)
    /// }
    /// ```
    ///
    /// # Errors
    /// There is none of this type: with `?`, a fault.
    pub fn state<S: Send + Sync + 'static>(&self) -> Result<&S, MissingState> {
        self.call.environment.states().get()
    }

    /// Other objects of the cluster, of a type that the app [watches](crate::App::watch) or [reads](crate::App::read).
    pub fn lookup<T: LookedUp>(&self) -> Lookup<T> {
        Lookup::new(self.call.environment.lookups(), self.namespace(), self.deadline())
    }

    /// When the answer must be there.
    pub fn deadline(&self) -> Instant {
        self.call.deadline
    }

    /// The time left for an answer.
    pub fn remaining(&self) -> Duration {
        self.call.deadline.saturating_duration_since(Instant::now())
    }

    /// Tells the user something without refusing; kubectl prints it after `Warning:`. Each line is a warning of its own.
    ///
    /// It is said also where the handler fails, panics or misses its deadline afterwards, unless `failurePolicy` decides
    /// about that: the answer is then HTTP 500, which carries no warnings.
    pub fn warn(&self, warning: impl AsRef<str>) {
        self.call.notes.warn(warning.as_ref());
    }

    /// Leaves a note in the API server's audit log, whatever becomes of the call, as [`Context::warn`] does. Never a secret:
    /// audit logs are widely read.
    pub fn audit(&self, key: &str, value: impl Into<String>) {
        self.call.notes.audit(key, value);
    }

    /// The same call, seen by a handler whose object may be another than the one received.
    pub(crate) fn behind(&self) -> Self {
        Self { call: Arc::clone(&self.call), behind: true }
    }

    /// The object received, for whoever sees it first.
    pub(crate) fn received(&self) -> Option<&RawObject> {
        self.raw().filter(|_| !self.behind)
    }
}

fn triple([group, version, name]: &[String; 3]) -> (&str, &str, &str) {
    (group, version, name)
}

/// What is no object of lists of strings is none at all: nothing was promised about it.
fn extra(extra: Option<&RawValue>) -> BTreeMap<String, Vec<String>> {
    extra.and_then(|extra| serde_json::from_str(extra.get()).ok()).unwrap_or_default()
}
