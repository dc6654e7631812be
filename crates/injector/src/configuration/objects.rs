//! Rules and settings that are Kubernetes objects: Injections, InjectorSettings and NamespacedInjections.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ListParams, ObjectMeta};
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kube::{Client, Resource, ResourceExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use vestibule::Watch;
use vestibule::tooling::{WatchState, Watched};
use vestibule_rules::{API_VERSION, CustomResource, MAX_NAMESPACED_BYTES};

use super::rule_source::RuleSource;

/// The time between two questions whether the API server has the definitions.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The time until a question without an answer is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// The reason of the condition `InForce` of rules of namespaces while the settings do not switch them on.
pub(crate) const SWITCHED_OFF: &str = "SwitchedOff";

/// An object with a document of the rule format. It may hold secrets, so `Debug` prints none of it.
#[derive(Deserialize)]
pub(crate) struct RuleObject<K> {
    pub(crate) metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
    #[serde(skip)]
    is_too_large: bool,
    /// Whether its `spec` was dropped because it is needed only for its status.
    #[serde(skip)]
    is_status_only: bool,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

/// One of the kinds of [`RuleObject`].
pub(crate) trait RuleKind: 'static {
    const RESOURCE: CustomResource;
    type Scope: 'static;
}

pub(crate) enum Injection {}

pub(crate) enum InjectorSettings {}

pub(crate) enum NamespacedInjection {}

/// An object as the last reload saw it.
#[derive(Clone)]
pub(crate) struct ObservedObject {
    pub(crate) resource: CustomResource,
    /// The namespace of a rule of a namespace.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) source: RuleSource,
    /// Whether `source` has no `spec` because the object was kept for its status alone: it is no rule.
    pub(crate) is_status_only: bool,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    /// Its status as it is stored.
    pub(crate) status: Value,
}

/// The objects of the last reload; [`None`] where the cluster has no definitions of them.
pub(crate) type ObservedObjects = watch::Receiver<Option<Arc<[ObservedObject]>>>;

/// The objects of a cluster that hold rules and settings. A cluster without the definitions has none.
pub(crate) struct RuleObjects {
    client: Client,
    state: State,
    /// Rules of namespaces; [`None`] where the settings in force switch them off and no status says otherwise, and for the time before
    /// settings are in force.
    namespaced: Option<Watched<RuleObject<NamespacedInjection>>>,
    /// Whether no status says that a rule of a namespace is in force, while such rules are switched off.
    is_settled: bool,
    /// Whether the watch of rules of namespaces keeps more than their status.
    has_specs: bool,
    watches: ObjectWatches,
}

/// The states of the watches, which the app reports. A watch that does not run is not broken.
#[derive(Clone)]
pub(crate) struct ObjectWatches {
    rules: WatchState,
    settings: WatchState,
    namespaced: WatchState,
}

enum State {
    /// Whether the API server has the definitions is not known, or it has none. It is asked at this instant.
    Ask {
        at: Instant,
        are_absent: bool,
    },
    Watched(Watched<RuleObject<Injection>>, Watched<RuleObject<InjectorSettings>>),
}

impl RuleObjects {
    /// Needs a Tokio runtime.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            state: State::Ask { at: Instant::now(), are_absent: false },
            namespaced: None,
            is_settled: false,
            has_specs: false,
            watches: ObjectWatches::idle(),
        }
    }

    /// The states of its watches.
    pub(crate) fn watches(&self) -> ObjectWatches {
        self.watches.clone()
    }

    /// Waits until objects changed, or the definitions were found or missed for the first time. A wait that is dropped loses
    /// nothing.
    pub(crate) async fn changed(&mut self) {
        loop {
            match &mut self.state {
                State::Watched(rules, settings) => {
                    tokio::select! {
                        () = rules.changed() => {}
                        () = settings.changed() => {}
                        () = changed(&mut self.namespaced) => {}
                    }
                    return;
                }
                State::Ask { at, are_absent } => {
                    sleep_until(*at).await;
                    match defined(&self.client).await {
                        Ok(defined) if is_complete(&defined) => {
                            // Without the definition there is no status.
                            self.is_settled = !defined.contains(&NamespacedInjection::RESOURCE);
                            let (client, watches) = (&self.client, &self.watches);
                            self.state = State::Watched(
                                Watched::start_as(client, Watch::new(), watches.rules.clone()),
                                Watched::start_as(client, Watch::new(), watches.settings.clone()),
                            );
                        }
                        answer => {
                            *at = Instant::now() + if answer.is_ok() { ASK_AGAIN } else { RETRY };
                            let is_news = answer.is_ok() && !*are_absent;
                            *are_absent |= answer.is_ok();
                            if is_news {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Starts the watch of rules of namespaces if the settings switch them on. If they switch them off, the watch goes on until no
    /// status says any more that such a rule is in force.
    pub(crate) fn follow_namespaced(&mut self, are_on: bool) {
        if !self.are_watched() {
            return;
        }
        if are_on {
            self.is_settled = false;
            self.namespaced = self.namespaced.take().filter(|_| self.has_specs);
        } else if !self.is_settled {
            let objects = self.namespaced.as_ref().and_then(list);
            self.is_settled = objects.is_some_and(|all| all.iter().all(|object| object.observed().is_off()));
        }
        if !self.is_settled && self.namespaced.is_none() {
            let slim: fn(&mut RuleObject<NamespacedInjection>) =
                if are_on { RuleObject::slim } else { RuleObject::keep_status };
            let watch = Watch::new().slim(slim);
            self.has_specs = are_on;
            let state = self.watches.namespaced.clone();
            self.namespaced = Some(Watched::start_as(&self.client, watch, state));
        } else if self.is_settled && self.namespaced.is_some() {
            self.namespaced = None;
            self.watches.namespaced.end();
        }
    }

    /// All objects: rules by name, then settings, then rules of namespaces as far as they were read; [`None`] while the others are being
    /// read.
    pub(crate) fn all(&self) -> Option<Vec<ObservedObject>> {
        match &self.state {
            State::Ask { are_absent, .. } => are_absent.then(Vec::new),
            State::Watched(rules, settings) => {
                let (rules, settings) = (list(rules)?, list(settings)?);
                let rules = rules.iter().map(|object| object.observed());
                let namespaced = self.namespaced.as_ref().and_then(list).unwrap_or_default();
                let settings = settings.iter().map(|object| object.observed());
                Some(rules.chain(settings).chain(namespaced.iter().map(|object| object.observed())).collect())
            }
        }
    }

    /// Whether the cluster has the definitions.
    pub(crate) fn are_watched(&self) -> bool {
        matches!(self.state, State::Watched(..))
    }
}

impl ObjectWatches {
    fn idle() -> Self {
        Self { rules: WatchState::idle(), settings: WatchState::idle(), namespaced: WatchState::idle() }
    }

    /// Each with the kind of its objects.
    pub(crate) fn by_kind(&self) -> [(&'static str, WatchState); 3] {
        let Self { rules, settings, namespaced } = self.clone();
        [
            (Injection::RESOURCE.kind(), rules),
            (InjectorSettings::RESOURCE.kind(), settings),
            (NamespacedInjection::RESOURCE.kind(), namespaced),
        ]
    }
}

impl<K: RuleKind> RuleObject<K> {
    /// Drops the managed fields, and a `spec` that is too large: teams may store more than the injector has memory for.
    fn slim(&mut self) {
        self.metadata.managed_fields = None;
        self.is_too_large = self.spec.as_ref().is_some_and(|spec| spec.get().len() > MAX_NAMESPACED_BYTES);
        if self.is_too_large {
            self.spec = None;
        }
    }

    /// Drops what the status does not need.
    fn keep_status(&mut self) {
        self.metadata.managed_fields = None;
        self.spec = None;
        self.is_status_only = true;
    }

    fn source(&self) -> RuleSource {
        let source =
            source(K::RESOURCE, self.metadata.namespace.as_deref(), &self.name_any(), self.spec.as_deref());
        match self.is_too_large {
            true => RuleSource {
                text: Err(format!("its `spec` takes more than {MAX_NAMESPACED_BYTES} bytes")),
                ..source
            },
            false => source,
        }
    }

    pub(crate) fn observed(&self) -> ObservedObject {
        let status = self.status.as_deref().and_then(|status| serde_json::from_str(status.get()).ok());
        ObservedObject {
            resource: K::RESOURCE,
            namespace: self.metadata.namespace.clone(),
            name: self.name_any(),
            source: self.source(),
            is_status_only: self.is_status_only,
            generation: self.metadata.generation.unwrap_or_default(),
            resource_version: self.metadata.resource_version.clone().unwrap_or_default(),
            status: status.unwrap_or_default(),
        }
    }
}

impl ObservedObject {
    /// Whether its status says that such rules are switched off.
    fn is_off(&self) -> bool {
        let mut conditions = self.status["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| one["type"] == "InForce" && one["reason"] == SWITCHED_OFF)
    }

    /// The name of its rule.
    pub(crate) fn rule_name(&self) -> String {
        qualified(self.namespace.as_deref(), &self.name)
    }
}

/// The sources of the objects that are rules or settings.
pub(super) fn rules(objects: &[ObservedObject]) -> Vec<RuleSource> {
    objects.iter().filter(|object| !object.is_status_only).map(|object| object.source.clone()).collect()
}

/// `NAMESPACE/NAME`; of an object without a namespace its name.
fn qualified(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The text of an object under the name that findings show. The status and the rest of the metadata are no rule.
pub(crate) fn source(
    resource: CustomResource,
    namespace: Option<&str>,
    name: &str,
    spec: Option<&RawValue>,
) -> RuleSource {
    let namespace = namespace.filter(|_| resource.is_namespaced());
    let mut document =
        json!({"apiVersion": API_VERSION, "kind": resource.kind(), "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        document["metadata"]["namespace"] = namespace.into();
    }
    if let Some(spec) = spec.and_then(|spec| serde_json::from_str::<Value>(spec.get()).ok()) {
        document["spec"] = spec;
    }
    RuleSource::new(resource.source(&qualified(namespace, name)), document.to_string())
}

/// The `spec` of an object.
pub(crate) fn spec(object: &RawValue) -> serde_json::Result<Option<Box<RawValue>>> {
    #[derive(Deserialize)]
    struct Specified {
        spec: Option<Box<RawValue>>,
    }
    serde_json::from_str::<Specified>(object.get()).map(|object| object.spec)
}

/// Whether the API server has the definitions of rules and settings. That of rules of namespaces is needed only where they are
/// switched on.
pub(crate) async fn are_defined(client: &Client) -> Result<bool, kube::Error> {
    Ok(is_complete(&defined(client).await?))
}

fn is_complete(defined: &[CustomResource]) -> bool {
    let mut needed = CustomResource::ALL.iter().filter(|resource| !resource.is_namespaced());
    needed.all(|resource| defined.contains(resource))
}

/// The kinds of which the API server has definitions.
async fn defined(client: &Client) -> Result<Vec<CustomResource>, kube::Error> {
    let found = match client.list_api_group_resources(API_VERSION).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        found => found?.resources,
    };
    let has = |resource: &CustomResource| found.iter().any(|found| found.name == resource.plural());
    Ok(CustomResource::ALL.into_iter().filter(has).collect())
}

/// The texts of all objects of a kind, read from the API server.
pub(crate) async fn stored<K: RuleKind>(client: &Client) -> Result<Vec<RuleSource>, kube::Error> {
    let objects = Api::<RuleObject<K>>::all(client.clone()).list(&ListParams::default()).await?;
    Ok(objects.iter().map(|object| object.observed().source).collect())
}

async fn changed(watched: &mut Option<Watched<RuleObject<NamespacedInjection>>>) {
    match watched {
        Some(watched) => watched.changed().await,
        None => std::future::pending().await,
    }
}

fn list<K: RuleKind>(watched: &Watched<RuleObject<K>>) -> Option<Vec<Arc<RuleObject<K>>>> {
    watched.lookup(std::time::Instant::now()).everywhere().list().ok()
}

impl RuleKind for Injection {
    const RESOURCE: CustomResource = CustomResource::Injection;
    type Scope = ClusterResourceScope;
}

impl RuleKind for InjectorSettings {
    const RESOURCE: CustomResource = CustomResource::InjectorSettings;
    type Scope = ClusterResourceScope;
}

impl RuleKind for NamespacedInjection {
    const RESOURCE: CustomResource = CustomResource::NamespacedInjection;
    type Scope = NamespaceResourceScope;
}

impl<K> Clone for RuleObject<K> {
    fn clone(&self) -> Self {
        let (metadata, spec, status) = (self.metadata.clone(), self.spec.clone(), self.status.clone());
        let Self { is_too_large, is_status_only, .. } = *self;
        Self { metadata, spec, status, is_too_large, is_status_only, kind: PhantomData }
    }
}

impl<K> fmt::Debug for RuleObject<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }
}

impl<K: RuleKind> Resource for RuleObject<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::RESOURCE.kind().into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        API_VERSION.split_once('/').map_or("", |(group, _)| group).into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        API_VERSION.split_once('/').map_or("", |(_, version)| version).into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::RESOURCE.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_without_its_spec_is_no_rule() {
        let text = r#"{"metadata": {"name": "team", "namespace": "shop"}, "spec": {"pod": {}}}"#;
        let whole: RuleObject<NamespacedInjection> = serde_json::from_str(text).unwrap();
        let mut status_only = whole.clone();
        status_only.keep_status();
        let kept = [&whole, &status_only].map(|object| object.clone().observed());
        assert_eq!(rules(&kept).len(), 1);
        assert!(rules(&kept)[0].text.as_ref().unwrap().contains("spec"));
    }
}
