//! Rules and settings that are Kubernetes objects: Injections and InjectorSettings.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ListParams, ObjectMeta};
use kube::core::ClusterResourceScope;
use kube::{Client, Resource, ResourceExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use vestibule::Watch;
use vestibule::tooling::Watched;
use vestibule_rules::{API_VERSION, CustomResource};

use super::rule_source::RuleSource;

/// The time between two questions whether the API server has the definitions.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The time until a question without an answer is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// An object with a document of the rule format. It may hold secrets, so `Debug` prints none of it.
#[derive(Deserialize)]
pub(crate) struct RuleObject<K> {
    pub(crate) metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

/// One of the kinds of [`RuleObject`].
pub(crate) trait RuleKind: 'static {
    const RESOURCE: CustomResource;
}

pub(crate) enum Injection {}

pub(crate) enum InjectorSettings {}

/// An object as the last reload saw it.
#[derive(Clone)]
pub(crate) struct ObservedObject {
    pub(crate) resource: CustomResource,
    pub(crate) name: String,
    pub(crate) source: RuleSource,
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
        Self { client, state: State::Ask { at: Instant::now(), are_absent: false } }
    }

    /// Waits until objects changed, or the definitions were found or missed for the first time. A wait that is dropped loses
    /// nothing.
    pub(crate) async fn changed(&mut self) {
        loop {
            match &mut self.state {
                State::Watched(rules, settings) => {
                    tokio::select! { () = rules.changed() => {}, () = settings.changed() => {} }
                    return;
                }
                State::Ask { at, are_absent } => {
                    sleep_until(*at).await;
                    match are_defined(&self.client).await {
                        Ok(true) => {
                            let client = &self.client;
                            self.state = State::Watched(
                                Watched::start(client, Watch::new()),
                                Watched::start(client, Watch::new()),
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

    /// All objects, rules by name and then settings; [`None`] while they are being read.
    pub(crate) fn all(&self) -> Option<Vec<ObservedObject>> {
        match &self.state {
            State::Ask { are_absent, .. } => are_absent.then(Vec::new),
            State::Watched(rules, settings) => {
                let (rules, settings) = (list(rules)?, list(settings)?);
                let rules = rules.iter().map(|object| object.observed());
                Some(rules.chain(settings.iter().map(|object| object.observed())).collect())
            }
        }
    }

    /// Whether the cluster has the definitions.
    pub(crate) fn are_watched(&self) -> bool {
        matches!(self.state, State::Watched(..))
    }
}

impl<K: RuleKind> RuleObject<K> {
    pub(crate) fn observed(&self) -> ObservedObject {
        let status = self.status.as_deref().and_then(|status| serde_json::from_str(status.get()).ok());
        ObservedObject {
            resource: K::RESOURCE,
            name: self.name_any(),
            source: source(K::RESOURCE, &self.name_any(), self.spec.as_deref()),
            generation: self.metadata.generation.unwrap_or_default(),
            resource_version: self.metadata.resource_version.clone().unwrap_or_default(),
            status: status.unwrap_or_default(),
        }
    }
}

/// The text of an object under the name that findings show. The status and the rest of the metadata are no rule.
pub(crate) fn source(resource: CustomResource, name: &str, spec: Option<&RawValue>) -> RuleSource {
    let mut document =
        json!({"apiVersion": API_VERSION, "kind": resource.kind(), "metadata": {"name": name}});
    if let Some(spec) = spec.and_then(|spec| serde_json::from_str::<Value>(spec.get()).ok()) {
        document["spec"] = spec;
    }
    RuleSource::new(resource.source(name), document.to_string())
}

/// The `spec` of an object.
pub(crate) fn spec(object: &RawValue) -> serde_json::Result<Option<Box<RawValue>>> {
    #[derive(Deserialize)]
    struct Specified {
        spec: Option<Box<RawValue>>,
    }
    serde_json::from_str::<Specified>(object.get()).map(|object| object.spec)
}

/// Whether the API server has both definitions.
pub(crate) async fn are_defined(client: &Client) -> Result<bool, kube::Error> {
    let found = match client.list_api_group_resources(API_VERSION).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
        found => found?.resources,
    };
    let has = |resource: &CustomResource| found.iter().any(|found| found.name == resource.plural());
    Ok(CustomResource::ALL.iter().all(has))
}

/// The texts of all objects of a kind, read from the API server.
pub(crate) async fn stored<K: RuleKind>(client: &Client) -> Result<Vec<RuleSource>, kube::Error> {
    let objects = Api::<RuleObject<K>>::all(client.clone()).list(&ListParams::default()).await?;
    Ok(objects.iter().map(|object| object.observed().source).collect())
}

fn list<K: RuleKind>(watched: &Watched<RuleObject<K>>) -> Option<Vec<Arc<RuleObject<K>>>> {
    watched.lookup(std::time::Instant::now()).everywhere().list().ok()
}

impl RuleKind for Injection {
    const RESOURCE: CustomResource = CustomResource::Injection;
}

impl RuleKind for InjectorSettings {
    const RESOURCE: CustomResource = CustomResource::InjectorSettings;
}

impl<K> Clone for RuleObject<K> {
    fn clone(&self) -> Self {
        let (metadata, spec, status) = (self.metadata.clone(), self.spec.clone(), self.status.clone());
        Self { metadata, spec, status, kind: PhantomData }
    }
}

impl<K> fmt::Debug for RuleObject<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }
}

impl<K: RuleKind> Resource for RuleObject<K> {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

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
