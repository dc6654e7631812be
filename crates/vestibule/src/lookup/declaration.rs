//! The kinds that an app declares for lookups, and their stores once the app is served.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use vestibule_identity::policy_rule;

use super::kind::Kind;
use super::live::{Answer, Joins, Live, MAX_GETS};
use super::looked_up::LookedUp;
use super::reflector;
use super::store::Store;
use super::test_objects::Objects;
use super::watch::{Slim, Watch, drop_managed_fields};
use crate::lookup::watch_state::{NamedWatch, WatchState};

/// A kind that an app declares for lookups.
#[derive(Clone)]
pub(crate) struct LookupDeclaration {
    of: TypeId,
    pub(crate) title: String,
    /// The namespace that is read; [`None`] for all.
    pub(crate) namespace: Option<String>,
    /// The right to read the kind.
    pub(crate) right: PolicyRule,
    open: Arc<Open>,
}

type Open = dyn Fn(&Source) -> Result<Arc<dyn StoreState>, String> + Send + Sync;

/// The source of objects.
pub(crate) enum Source {
    Cluster(Client),
    Objects(Objects),
}

/// All lookups of a served app. The watches end when the last clone is dropped.
#[derive(Clone, Default)]
pub(crate) struct Lookups(Arc<BTreeMap<TypeId, Arc<dyn StoreState>>>);

/// The state of a store, for probes and metrics.
pub(crate) trait StoreState: Any + Send + Sync {
    fn title(&self) -> &str;

    /// [`None`] if no objects are kept in memory.
    fn objects(&self) -> Option<usize>;

    /// Why there is no answer yet; the reason may be empty. [`None`] once the first list was read.
    fn missing(&self) -> Option<String>;

    /// [`None`] if there is no watch.
    fn watch(&self) -> Option<&WatchState>;
}

/// The objects of one kind, for lookups.
pub(super) struct KindObjects<T: LookedUp> {
    pub(super) kind: Kind,
    /// The watched namespace; [`None`] for all.
    pub(super) namespace: Option<String>,
    pub(super) store: Option<Arc<Store<T>>>,
    origin: Origin<T>,
    feed: Option<(JoinSet<()>, WatchState)>,
}

enum Origin<T> {
    Live(Arc<Live<T>>),
    /// The objects of a test.
    Fixed(Store<T>),
}

impl LookupDeclaration {
    pub(crate) fn watch<T: LookedUp>(watch: Watch<T>) -> Self {
        let namespace = watch.namespace.clone();
        Self::new::<T>(namespace, &["get", "list", "watch"], move |source, kind| match source {
            Source::Cluster(client) => {
                Ok(KindObjects::start(client, kind, watch.clone(), WatchState::idle()).0)
            }
            Source::Objects(objects) => {
                let store = Arc::new(Store::new(watch.indices.clone()));
                let origin = Origin::fixed(objects, &kind, &watch.slim, Some(&*store))?;
                Ok(KindObjects {
                    kind,
                    namespace: watch.namespace.clone(),
                    store: Some(store),
                    origin,
                    feed: None,
                })
            }
        })
    }

    pub(crate) fn read<T: LookedUp>() -> Self {
        Self::new::<T>(None, &["get"], |source, kind| {
            let slim: Slim<T> = Arc::new(drop_managed_fields);
            let origin = match source {
                Source::Cluster(client) => Origin::live(client, &kind, &slim),
                Source::Objects(objects) => Origin::fixed(objects, &kind, &slim, None)?,
            };
            Ok(KindObjects { kind, namespace: None, store: None, origin, feed: None })
        })
    }

    fn new<T: LookedUp>(
        namespace: Option<String>,
        verbs: &[&str],
        open: impl Fn(&Source, Kind) -> Result<KindObjects<T>, String> + Send + Sync + 'static,
    ) -> Self {
        let kind = Kind::of::<T>();
        let right = policy_rule(&kind.group, &kind.resource, verbs, &[]);
        let title = kind.title.clone();
        let open = move |source: &Source| {
            let objects: Arc<dyn StoreState> = Arc::new(open(source, kind.clone())?);
            Ok(objects)
        };
        Self { of: TypeId::of::<T>(), title, namespace, right, open: Arc::new(open) }
    }
}

impl Lookups {
    /// Starts the watches.
    pub(crate) fn open(declared: &[LookupDeclaration], source: &Source) -> Result<Self, String> {
        let opened = declared.iter().map(|declared| Ok((declared.of, (declared.open)(source)?)));
        Ok(Self(Arc::new(opened.collect::<Result<_, String>>()?)))
    }

    pub(super) fn of<T: LookedUp>(&self) -> Option<Arc<KindObjects<T>>> {
        let objects: Arc<dyn Any + Send + Sync> = self.0.get(&TypeId::of::<T>())?.clone();
        objects.downcast().ok()
    }

    /// The first lists that are not read yet.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.stores().filter_map(|store| Some(waiting_for(store.title(), &store.missing()?))).collect()
    }

    /// The stores in memory.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &dyn StoreState> {
        self.0.values().map(|state| &**state).filter(|state| state.objects().is_some())
    }

    /// The state of each watch.
    pub(crate) fn watches(&self) -> impl Iterator<Item = NamedWatch> {
        self.stores().filter_map(|store| Some((store.title().to_owned(), store.watch()?.clone())))
    }
}

impl<T: LookedUp> KindObjects<T> {
    /// Starts a watch, which reports to `state`; returns the receiver of its changes too.
    pub(super) fn start(
        client: &Client,
        kind: Kind,
        watch: Watch<T>,
        state: WatchState,
    ) -> (Self, tokio::sync::watch::Receiver<()>) {
        let store = Arc::new(Store::new(watch.indices.clone()));
        let (namespace, origin) = (watch.namespace.clone(), Origin::live(client, &kind, &watch.slim));
        // Subscribed before the watch starts: a first list that is complete at once is a change too.
        let changes = store.changes();
        let task = reflector::start(client, kind.clone(), watch, Arc::clone(&store), state.clone());
        let feed = Some((task, state));
        (Self { kind, namespace, store: Some(store), origin, feed }, changes)
    }

    pub(super) async fn live(&self, namespace: &str, name: &str, joins: Joins) -> Answer<T> {
        match &self.origin {
            Origin::Live(live) => live.get(namespace, name, joins).await,
            Origin::Fixed(objects) => Ok(objects.get(namespace, name)),
        }
    }
}

impl<T: LookedUp> StoreState for KindObjects<T> {
    fn title(&self) -> &str {
        &self.kind.title
    }

    fn objects(&self) -> Option<usize> {
        self.store.as_ref().map(|store| store.len())
    }

    fn missing(&self) -> Option<String> {
        self.store.as_ref()?.missing()
    }

    fn watch(&self) -> Option<&WatchState> {
        self.feed.as_ref().map(|(_, state)| state)
    }
}

impl<T: LookedUp> Origin<T> {
    fn live(client: &Client, kind: &Kind, slim: &Slim<T>) -> Self {
        let pending = Mutex::default();
        Self::Live(Arc::new(Live {
            client: client.clone(),
            kind: kind.clone(),
            slim: Arc::clone(slim),
            pending,
            gets: Semaphore::new(MAX_GETS),
        }))
    }

    fn fixed(
        objects: &Objects,
        kind: &Kind,
        slim: &Slim<T>,
        seen: Option<&Store<T>>,
    ) -> Result<Self, String> {
        let all = Store::new(BTreeMap::new());
        for (mut object, is_seen) in objects.of::<T>(kind)? {
            slim(&mut object);
            let object = Arc::new(object);
            if let Some(seen) = seen.filter(|_| is_seen) {
                seen.listed(Arc::clone(&object));
            }
            all.put(object);
        }
        if let Some(seen) = seen.filter(|_| objects.is_synced(kind)) {
            seen.end_list();
        }
        Ok(Self::Fixed(all))
    }
}

/// The first list of `title`, with the reason why it is not read.
pub(super) fn waiting_for(title: &str, why: &str) -> String {
    if why.is_empty() {
        format!("the first list of {title}")
    } else {
        format!("the first list of {title} ({why})")
    }
}
