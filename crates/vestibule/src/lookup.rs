//! Lookups of other objects of the cluster, from memory or from the API server.

mod declaration;
pub(crate) mod error;
mod kind;
mod live;
pub(crate) mod looked_up;
mod reflector;
mod store;
pub(crate) mod test_objects;
pub(crate) mod watch;
pub(crate) mod watch_state;
pub(crate) mod watched;
mod watched_object;

use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;

use declaration::{KindObjects, waiting_for};
pub(crate) use declaration::{LookupDeclaration, Lookups, Source, StoreState};
use error::LookupError;
use live::{Answer, Joins};
use looked_up::LookedUp;
use store::Store;

/// A query for objects of one type, made by [`Context::lookup`](crate::Context::lookup).
///
/// Namespaced objects are looked up in the request's namespace, unless [`Lookup::within`] names another. A lookup may take 80 % of
/// the time that is left for the call; the rest is for the handler.
///
/// The answer may be out of date by a moment. Two requests at the same time, on two replicas, do not see each other's objects: a
/// rule over several objects cannot be enforced by admission alone.
///
/// ```
/// # use k8s_openapi::api::core::v1::{Namespace, Pod};
/// # use vestibule::Operation::Create;
/// # use vestibule::{App, Change, Context, FailurePolicy, Reject, Watch, deny, on};
/// async fn spread(_: Change<Pod>, context: Context) -> Result<(), Reject> {
///     let here = context.namespace().unwrap_or_default();
///     let Some(namespace) = context.lookup::<Namespace>().get(here).await? else { return Ok(()) };
///     let on_a = context.lookup::<Pod>().everywhere().by_index("by-node", "a")?;
///     let labels = namespace.metadata.labels.as_ref();
///     match labels.is_some_and(|labels| labels.contains_key("crowded")) && on_a.len() > 1 {
///         true => Err(deny("node `a` is full")),
///         false => Ok(()),
///     }
/// }
///
/// let by_node = |pod: &Pod| pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect();
/// let app = App::new("demo")
///     .watch(Watch::<Namespace>::new())
///     .watch(Watch::<Pod>::new().index("by-node", by_node))
///     .validate("spread", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), spread);
/// # let _ = app;
/// ```
#[must_use = "it asks nothing by itself"]
pub struct Lookup<T: LookedUp> {
    objects: Option<Arc<KindObjects<T>>>,
    namespaces: Namespaces,
    deadline: Instant,
}

enum Namespaces {
    /// [`None`] if neither the request nor the lookup names it.
    One(Option<String>),
    All,
}

impl<T: LookedUp> Lookup<T> {
    pub(crate) fn new(lookups: &Lookups, namespace: Option<&str>, deadline: Instant) -> Self {
        Self { objects: lookups.of(), namespaces: Namespaces::One(namespace.map(str::to_owned)), deadline }
    }

    /// Looks in `namespace` instead of the request's. No effect on cluster-scoped kinds.
    pub fn within(mut self, namespace: impl Into<String>) -> Self {
        self.namespaces = Namespaces::One(Some(namespace.into()));
        self
    }

    /// Looks in all watched namespaces: for [`Lookup::list`] and [`Lookup::by_index`].
    pub fn everywhere(mut self) -> Self {
        self.namespaces = Namespaces::All;
        self
    }

    /// The object with this name, or [`None`] if there is none: from memory, else from the API server. So an object that was made
    /// a moment before the request is found although the watch has not seen it yet.
    ///
    /// Calls that need the same object from the API server at the same time share one GET. If the object is not found, a call that
    /// began after the GET was sent makes another. A negative answer is not cached.
    ///
    /// Memory may hold an object for a moment after it was changed or deleted; [`Lookup::fresh`] reads the current one.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
    /// # use vestibule::{Context, Reject, deny};
    /// async fn handler(pod: Pod, context: Context) -> Result<Pod, Reject> {
    ///     let Some(claim) = context.lookup::<PersistentVolumeClaim>().get("data").await? else {
    ///         return Err(deny("there is no claim `data`"));
    ///     };
    ///     // ...
    /// #   let _ = claim;
    ///     Ok(pod)
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`LookupError`]. A missing object is [`None`], not an error.
    pub async fn get(&self, name: &str) -> Result<Option<Arc<T>>, LookupError> {
        let objects = self.objects()?;
        let namespace = self.namespace(objects)?;
        if objects.store.is_some()
            && let Some(found) = self.synced(objects)?.get(namespace, name)
        {
            return Ok(Some(found));
        }
        self.ask(objects, namespace, name, Joins::Found).await
    }

    /// The object with this name, read from the API server.
    ///
    /// # Errors
    /// See [`LookupError`]. A missing object is [`None`], not an error.
    pub async fn fresh(&self, name: &str) -> Result<Option<Arc<T>>, LookupError> {
        let objects = self.objects()?;
        self.ask(objects, self.namespace(objects)?, name, Joins::Never).await
    }

    /// The object with this name, from memory only. [`None`] also if the watch has not seen it yet.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn cached(&self, name: &str) -> Result<Option<Arc<T>>, LookupError> {
        let objects = self.objects()?;
        Ok(self.synced(objects)?.get(self.namespace(objects)?, name))
    }

    /// All objects in memory, in the order of their names, without objects that do not fit `T`: the log names them.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn list(&self) -> Result<Vec<Arc<T>>, LookupError> {
        let objects = self.objects()?;
        Ok(self.synced(objects)?.list(self.one_namespace(objects)?))
    }

    /// The objects in memory to which the function of [`Watch::index`](crate::Watch::index) gave `key`, in the order of their names.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn by_index(&self, index: &str, key: &str) -> Result<Vec<Arc<T>>, LookupError> {
        let objects = self.objects()?;
        let found = self.synced(objects)?.by_index(index, key, self.one_namespace(objects)?);
        found
            .ok_or_else(|| LookupError::NoIndex { kind: objects.kind.title.clone(), index: index.to_owned() })
    }

    fn objects(&self) -> Result<&KindObjects<T>, LookupError> {
        self.objects
            .as_deref()
            .ok_or_else(|| LookupError::NotRegistered { kind: kind::Kind::of::<T>().title })
    }

    fn synced<'k>(&self, objects: &'k KindObjects<T>) -> Result<&'k Store<T>, LookupError> {
        let kind = || objects.kind.title.clone();
        let store = objects.store.as_deref().ok_or_else(|| LookupError::NotWatched { kind: kind() })?;
        match store.missing() {
            None => Ok(store),
            Some(why) => Err(LookupError::NotSynced { missing: waiting_for(&objects.kind.title, &why) }),
        }
    }

    /// The namespace of one object; empty for cluster-scoped kinds.
    fn namespace<'l>(&'l self, objects: &KindObjects<T>) -> Result<&'l str, LookupError> {
        let kind = || objects.kind.title.clone();
        match (objects.kind.is_namespaced, &self.namespaces) {
            (false, _) => Ok(""),
            (true, Namespaces::One(Some(namespace))) => match &objects.namespace {
                Some(watched) if watched != namespace => Err(LookupError::OutOfScope {
                    kind: kind(),
                    namespace: namespace.clone(),
                    watched: watched.clone(),
                }),
                _ => Ok(namespace),
            },
            (true, _) => Err(LookupError::NoNamespace { kind: kind() }),
        }
    }

    /// The namespace of several objects; [`None`] for all namespaces.
    fn one_namespace<'l>(&'l self, objects: &KindObjects<T>) -> Result<Option<&'l str>, LookupError> {
        match self.namespaces {
            Namespaces::One(_) if objects.kind.is_namespaced => self.namespace(objects).map(Some),
            _ => Ok(None),
        }
    }

    async fn ask(
        &self,
        objects: &KindObjects<T>,
        namespace: &str,
        name: &str,
        joins: Joins,
    ) -> Result<Option<Arc<T>>, LookupError> {
        let object = || objects.kind.object(namespace, name);
        let after = self.deadline.saturating_duration_since(Instant::now()).mul_f32(0.8);
        let late = |_| LookupError::Late { object: object(), after };
        let answer: Answer<T> = timeout(after, objects.live(namespace, name, joins)).await.map_err(late)?;
        answer.map_err(|failure| LookupError::Api { object: object(), code: failure.code, why: failure.why })
    }
}
