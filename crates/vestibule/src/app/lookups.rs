//! The methods of [`App`] that declare lookups of other objects.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;

use super::{App, AppError};
use crate::lookup::looked_up::LookedUp;
use crate::lookup::test_objects::Objects;
use crate::lookup::watch::Watch;
use crate::lookup::watch_state::WatchState;
use crate::lookup::{LookupDeclaration, Lookups, Source};
use crate::pipeline::environment::Environment;

impl App {
    /// Keeps the objects of `watch` up to date in memory, for [`Context::lookup`](crate::Context::lookup): all objects of a type,
    /// unless the watch is limited to some objects or some of their fields.
    ///
    /// `manifests` prints the RBAC rule for it. `/readyz` waits for the first list. A hook that is called before that and looks up
    /// `T` answers 503 with `Retry-After`.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
    /// # use vestibule::Operation::Create;
    /// # use vestibule::{App, Context, FailurePolicy, Reject, Watch, deny, on};
    /// async fn data(pod: Pod, context: Context) -> Result<Pod, Reject> {
    ///     match context.lookup::<PersistentVolumeClaim>().get("data").await? {
    ///         Some(_) => Ok(pod),
    ///         None => Err(deny("make the claim `data` first")),
    ///     }
    /// }
    ///
    /// let app = App::new("data")
    ///     .mutate("data", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), data)
    ///     .watch(Watch::<PersistentVolumeClaim>::new());
    /// # let _ = app;
    /// ```
    pub fn watch<T: LookedUp>(self, watch: Watch<T>) -> Self {
        self.looking_up(LookupDeclaration::watch(watch))
    }

    /// Reads objects of type `T` one by one from the API server, and keeps none in memory: for types with many objects, or types
    /// that are rarely looked up. `manifests` prints the RBAC rule for it.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{Pod, Secret};
    /// # use vestibule::Operation::Create;
    /// # use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};
    /// async fn has_token(_: Change<Pod>, context: Context) -> Result<(), Reject> {
    ///     let token = context.lookup::<Secret>().get("token").await?;
    ///     token.map(drop).ok_or_else(|| deny("make the Secret `token` first"))
    /// }
    ///
    /// let app = App::new("demo")
    ///     .validate("has-token", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), has_token)
    ///     .read::<Secret>();
    /// # let _ = app;
    /// ```
    pub fn read<T: LookedUp>(self) -> Self {
        self.looking_up(LookupDeclaration::read::<T>())
    }

    /// Reports a watch that a lookup did not start, such as a [`Watched`](crate::Watched), of objects of `kind`: in
    /// `vestibule_watch_broken_seconds`, and on `/readyz?verbose` while it is broken. The watches of [`App::watch`] are reported
    /// anyway.
    ///
    /// ```
    /// # use vestibule::{App, WatchState};
    /// fn nodes(app: App, client: &kube::Client) -> App {
    ///     let (client, state) = WatchState::listening(client);
    ///     // ... watches with this client, by `identity::short_watch`
    /// #   drop(client);
    ///     app.reports_watch("Node", state)
    /// }
    /// ```
    pub fn reports_watch(mut self, kind: &str, state: WatchState) -> Self {
        self.watches.push((kind.to_owned(), state));
        self
    }

    /// Makes lookups find `objects` instead of a cluster's: for tests.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Namespace;
    /// # use vestibule::{App, Objects, Watch};
    /// let app = App::new("demo").watch(Watch::<Namespace>::new()).lookups_from(Objects::new());
    /// # let _ = app;
    /// ```
    pub fn lookups_from(mut self, objects: Objects) -> Self {
        self.objects = Some(objects);
        self
    }

    /// Whether the app needs a client of a cluster to be served.
    pub fn needs_client(&self) -> bool {
        !self.works.is_empty() || !self.lookups.is_empty() && self.objects.is_none()
    }

    /// The rights that lookups need, one for each resource and namespace; [`None`] is every namespace.
    pub(crate) fn lookup_rights(&self) -> Vec<(Option<String>, PolicyRule)> {
        let mut rights = BTreeMap::<_, PolicyRule>::new();
        for LookupDeclaration { namespace, right, .. } in &self.lookups {
            let place = (&right.api_groups, &right.resources, namespace);
            let merged = rights.entry(place).or_insert_with(|| right.clone());
            // The verbs are `get`, or `get, list, watch`: the longer list contains the shorter.
            if right.verbs.len() > merged.verbs.len() {
                merged.verbs.clone_from(&right.verbs);
            }
        }
        rights.into_iter().map(|((.., namespace), right)| (namespace.clone(), right)).collect()
    }

    /// The lookups that handlers use. Starts the watches, which end when the last clone is dropped.
    ///
    /// # Errors
    /// The app looks objects up, and has neither a client nor objects for a test.
    pub fn environment(&self, client: Option<Client>) -> Result<Environment, AppError> {
        let source = self.objects.clone().map(Source::Objects).or(client.map(Source::Cluster));
        let lookups = match source {
            _ if self.lookups.is_empty() => Ok(Lookups::default()),
            Some(source) => Lookups::open(&self.lookups, &source),
            None => Err(format!(
                "it looks up {}, and there is no cluster to ask: set `Options::client`, or in tests give it objects by \
                 `.lookups_from(..)`",
                self.titles().join(", ")
            )),
        };
        let lookups = lookups.map_err(|problem| AppError::new(&self.name, vec![problem]))?;
        Ok(Environment { lookups, traces: None })
    }

    fn titles(&self) -> Vec<&str> {
        self.lookups.iter().map(|declared| &*declared.title).collect()
    }

    fn looking_up(mut self, declared: LookupDeclaration) -> Self {
        if self.titles().contains(&&*declared.title) {
            let title = &declared.title;
            self.problems.push(format!("{title} is looked up twice: one `.watch` or `.read` is enough"));
        }
        self.lookups.push(declared);
        self
    }
}
