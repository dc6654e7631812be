//! The watches of Injections, InjectorSettings and NamespacedInjections.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use vestibule::identity::with_causes;
use vestibule::{Watch, WatchState, Watched};
use vestibule_rules::{API_VERSION, CustomResource};

use super::rule_object::{
    Injection, InjectorSettings, NamespacedInjection, ObservedObject, RuleKind, RuleObject,
};
use super::rule_source::RuleSource;
use crate::deadline::with_timeout;

/// The time between two questions whether the API server has the definitions.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(10);

/// The time until a question without an answer is asked again.
const DISCOVERY_RETRY: Duration = Duration::from_secs(1);

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
    /// Whether the API server had the definition of rules of namespaces when it was asked.
    has_namespaced: bool,
    pub(super) watches: ObjectWatches,
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
    Undiscovered {
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
            state: State::Undiscovered { at: Instant::now(), are_absent: false },
            namespaced: None,
            is_settled: false,
            has_specs: false,
            has_namespaced: false,
            watches: ObjectWatches::idle(),
        }
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
                State::Undiscovered { at, are_absent } => {
                    sleep_until(*at).await;
                    match definitions(&self.client).await {
                        Ok(definitions) if matches!(Defined::of(&definitions), Defined::All) => {
                            self.has_namespaced = definitions.contains(&NamespacedInjection::RESOURCE);
                            // Without the definition there is no status.
                            self.is_settled = !self.has_namespaced;
                            let (client, watches) = (&self.client, &self.watches);
                            self.state = State::Watched(
                                Watched::start_as(client, Watch::new(), watches.rules.clone()),
                                Watched::start_as(client, Watch::new(), watches.settings.clone()),
                            );
                        }
                        Ok(definitions) => {
                            *at = Instant::now() + DISCOVERY_INTERVAL;
                            if !std::mem::replace(are_absent, true) {
                                if let Defined::AllBut(missing) = Defined::of(&definitions) {
                                    tracing::warn!("{}", incomplete(missing));
                                }
                                return;
                            }
                        }
                        Err(error) => {
                            *at = Instant::now() + DISCOVERY_RETRY;
                            let error = with_causes(&error);
                            if self.watches.rules.failed(&error) {
                                tracing::warn!(
                                    error,
                                    "the API server does not say whether it has the definition of Injections; trying again"
                                );
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
            State::Undiscovered { are_absent, .. } => are_absent.then(Vec::new),
            State::Watched(rules, settings) => {
                let (rules, settings) = (list(rules)?, list(settings)?);
                let rules = rules.iter().map(|object| object.observed());
                let namespaced = self.namespaced.as_ref().and_then(list).unwrap_or_default();
                let settings = settings.iter().map(|object| object.observed());
                Some(rules.chain(settings).chain(namespaced.iter().map(|object| object.observed())).collect())
            }
        }
    }

    /// Whether rules of namespaces have been read, with their `spec`. A cluster without their definition has none.
    pub(crate) fn has_read_namespaced(&self) -> bool {
        let is_read = || self.has_specs && self.namespaced.as_ref().is_some_and(Watched::is_synced);
        !self.has_namespaced || is_read()
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

/// The sources of the objects that are rules or settings.
pub(super) fn rules(objects: &[ObservedObject]) -> Vec<RuleSource> {
    objects.iter().filter(|object| !object.is_status_only).map(|object| object.source.clone()).collect()
}

/// Whether the API server has the definitions of rules and settings. That of rules of namespaces is needed only where they are
/// switched on.
pub(crate) enum Defined {
    /// Both, so that an injector reads objects.
    All,
    /// Only one of them. The other kind is this one.
    AllBut(&'static str),
    Nothing,
}

impl Defined {
    /// Asks the API server.
    pub(crate) async fn read(client: &Client) -> Result<Self, kube::Error> {
        Ok(Self::of(&definitions(client).await?))
    }

    fn of(defined: &[CustomResource]) -> Self {
        let needed = CustomResource::ALL.into_iter().filter(|resource| !resource.is_namespaced());
        let (found, missing): (Vec<_>, Vec<_>) = needed.partition(|resource| defined.contains(resource));
        match missing.first() {
            None => Self::All,
            Some(missing) if !found.is_empty() => Self::AllBut(missing.kind()),
            Some(_) => Self::Nothing,
        }
    }
}

/// The sentence about a cluster that lacks the definition of the kind `missing` only.
pub(crate) fn incomplete(missing: &str) -> String {
    format!(
        "the cluster has no definition of {missing}, and without it an injector reads no Injection; apply the output of `vestibule manifests`"
    )
}

/// The kinds of which the API server has definitions.
async fn definitions(client: &Client) -> Result<Vec<CustomResource>, kube::Error> {
    let found = match with_timeout(client.list_api_group_resources(API_VERSION)).await {
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use tokio::time::timeout;

    use super::*;

    /// An injector that may not ask for the definitions was never ready, and its log did not say why.
    #[tokio::test(start_paused = true)]
    async fn the_reason_why_definitions_are_not_known_is_logged() {
        let refusing = tower::service_fn(|_: Request<Body>| async {
            let refused = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not allowed","code":403}"#;
            let answer = Response::builder().status(403).body(Body::from(refused.as_bytes().to_vec()));
            Ok::<_, Infallible>(answer.unwrap())
        });
        let client = Client::new(refusing, "injector");
        let error = with_causes(&definitions(&client).await.unwrap_err());
        assert!(error.contains("not allowed"), "{error}");
        let mut objects = RuleObjects::new(client);
        assert!(timeout(DISCOVERY_INTERVAL, objects.changed()).await.is_err());
        assert!(!objects.watches.rules.failed(&error), "the state of the watch knows what was logged");
    }

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
