//! The methods of [`App`] that add hooks.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vestibule_admission::{Handler, Hook, HookKind};

use super::App;
use crate::handler::{Mutate, Validate};
use crate::pipeline;
use crate::pipeline::environment::Environment;
use crate::pipeline::typed::{Mutating, Typed, Validating};
use crate::registration::HookEntry;
use crate::registration::name::{DNS_LABEL, is_dns_label};
use crate::registration::on::{On, Raw};
use crate::registration::rule::Rule;

/// A hook of an app that is not yet bound: its handler still lacks the environment.
#[derive(Clone)]
pub struct Registered {
    /// Its entry in the webhook configuration.
    pub entry: HookEntry,
    pub(super) make: Arc<dyn Fn(&Environment) -> Hook + Send + Sync>,
}

impl App {
    /// Adds a hook that changes objects of type `T`. Its path is `/mutate/NAME`. A request without an object to change, such as a
    /// DELETE, is allowed without calling the handler; [`App::validate`] can judge it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Context, FailurePolicy, Reject, on};
    ///
    /// async fn owner(mut map: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
    ///     let annotations = map.metadata.annotations.get_or_insert_default();
    ///     annotations.entry("example.com/made-by".to_owned()).or_insert(context.user().username.clone());
    ///     Ok(map)
    /// }
    ///
    /// let app = App::new("demo").mutate("owner", on::<ConfigMap>([Create]).failure_policy(FailurePolicy::Ignore), owner);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn mutate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Serialize + Send + 'static,
        H: Mutate<T>,
    {
        let typed = typed(&on, handler);
        let make = move |environment: &Environment| Mutating(typed(environment));
        self.register(name, HookKind::Mutating, on, move |environment| Arc::new(make(environment)))
    }

    /// Adds a hook that judges changes of objects of type `T`. Its path is `/validate/NAME`.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use vestibule::Operation::{Create, Update};
    /// use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};
    ///
    /// async fn guard(change: Change<Deployment>, _: Context) -> Result<(), Reject> {
    ///     let replicas = change.object().and_then(|deployment| deployment.spec.as_ref()?.replicas);
    ///     if replicas > Some(10) { Err(deny("too many replicas")) } else { Ok(()) }
    /// }
    ///
    /// let app = App::new("demo").validate("guard", on::<Deployment>([Create, Update]).failure_policy(FailurePolicy::Fail), guard);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn validate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        H: Validate<T>,
    {
        let typed = typed(&on, handler);
        let make = move |environment: &Environment| Validating(typed(environment));
        self.register(name, HookKind::Validating, on, move |environment| Arc::new(make(environment)))
    }

    /// Adds a mutating hook whose handler reads the request itself and returns its own patch.
    ///
    /// ```
    /// use std::time::Instant;
    /// use vestibule::Operation::Create;
    /// use vestibule::patch::{Operation, Pointer};
    /// use vestibule::{App, FailurePolicy, Rule, on_raw};
    /// use vestibule::admission::{Handler, HandlerFuture, Request, Verdict};
    ///
    /// struct Unlabel;
    ///
    /// impl Handler for Unlabel {
    ///     fn handle<'a>(&'a self, request: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
    ///         let path = Pointer::root().child("metadata").child("labels");
    ///         let there = request.object.is_some_and(|object| object.get().contains(r#""labels""#));
    ///         let patch = if there { vec![Operation::Remove { path }] } else { Vec::new() };
    ///         Box::pin(async move { Verdict::mutated(patch) })
    ///     }
    /// }
    ///
    /// let on = on_raw([Rule::new("v1", "nodes", [Create])]).failure_policy(FailurePolicy::Ignore);
    /// assert!(App::new("demo").mutate_raw("unlabel", on, Unlabel).check().is_ok());
    /// ```
    pub fn mutate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        let handler: Arc<dyn Handler> = Arc::new(handler);
        self.register(name, HookKind::Mutating, on, move |_| Arc::clone(&handler))
    }

    /// Adds a validating hook whose handler reads the request itself.
    ///
    /// ```
    /// use std::time::Instant;
    /// use vestibule::Operation::Connect;
    /// use vestibule::{App, FailurePolicy, Rule, on_raw};
    /// use vestibule::admission::{Denial, Handler, HandlerFuture, Request, Verdict};
    ///
    /// struct NoStreams;
    ///
    /// impl Handler for NoStreams {
    ///     fn handle<'a>(&'a self, request: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
    ///         let exempt = request.user.username == "admin";
    ///         Box::pin(async move { if exempt { Verdict::allowed() } else { Denial::new("no streams").into() } })
    ///     }
    /// }
    ///
    /// let on = on_raw([Rule::new("v1", "pods/exec", [Connect])]).failure_policy(FailurePolicy::Fail);
    /// let app = App::new("demo").validate_raw("no-streams", on, NoStreams);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn validate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        let handler: Arc<dyn Handler> = Arc::new(handler);
        self.register(name, HookKind::Validating, on, move |_| Arc::clone(&handler))
    }

    fn register<T>(
        mut self,
        name: &str,
        kind: HookKind,
        on: On<T>,
        handler: impl Fn(&Environment) -> Arc<dyn Handler> + Send + Sync + 'static,
    ) -> Self {
        let on = on.declaration;
        let mut problems = on.problems(kind);
        if !is_dns_label(name) {
            problems.push(format!("{DNS_LABEL}: the name becomes a path"));
        }
        self.problems.extend(problems.into_iter().map(|problem| format!("hook `{name}`: {problem}")));
        let on_fault = on.on_fault;
        // A validating hook may protect a finalizer, so it sees these updates unless its author says otherwise.
        let skip_finalizer_updates = on.skip_finalizer_updates.unwrap_or(kind == HookKind::Mutating);
        let entry = HookEntry::new(name, kind, on);
        let name = entry.name.clone();
        let make = move |environment: &Environment| {
            let handler = handler(environment);
            pipeline::hook(&name, kind, skip_finalizer_updates, handler, environment.traces.clone())
                .on_fault(on_fault)
        };
        self.hooks.push(Registered { entry, make: Arc::new(make) });
        self
    }
}

impl Registered {
    /// The finished hook, whose handler gets `environment` at every call.
    pub fn hook(&self, environment: &Environment) -> Hook {
        (self.make)(environment)
    }
}

/// A typed handler that still lacks its environment.
fn typed<T, H>(on: &On<T>, handler: H) -> impl Fn(&Environment) -> Typed<T, H> + use<T, H> {
    let (rules, handler): (Arc<[Rule]>, _) = (on.declaration.rules.clone().into(), Arc::new(handler));
    move |environment| Typed {
        rules: Arc::clone(&rules),
        lookups: environment.lookups.clone(),
        handler: Arc::clone(&handler),
        of: PhantomData,
    }
}
