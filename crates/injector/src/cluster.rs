//! A cluster, asked once: for explanations.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Client;
use kube::api::{Api, GetParams, ListParams, Request};
use vestibule::identity::cluster_config;
use vestibule_rules::{NamespaceFacts, RuleSet};

use crate::configuration::{
    CONFIG_LABEL, Compile, Compiler, Document, LAST_GOOD, LastGood, Patience, Settled, Source, settle,
    sources,
};
use crate::{ConnectError, Finding, LoadError};

/// How long a cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster to ask for pods, namespaces and rules. Nothing is watched, and nothing is written.
pub struct Cluster {
    client: Client,
    namespace: String,
}

/// Rules as they lie in ConfigMaps.
pub struct StoredRules {
    /// That of the ConfigMaps, which is the injector's.
    namespace: String,
    sources: Vec<Source>,
    /// What was good last; why not, where it cannot be read.
    good: Result<Vec<Document>, ClusterError>,
}

/// The rules that an injector goes by which reads the same.
pub struct RulesInForce {
    /// Of each document the newest that is good.
    pub rules: RuleSet,
    /// The errors in the newest texts.
    pub wrong: Vec<Finding>,
    /// How the rules stand to the newest texts.
    pub standing: Standing,
}

/// How rules that are asked about stand to the newest texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// They are in force: of each document the newest that is good, else its last good version.
    InForce,
    /// The newest texts contradict each other, so that what was good before is in force, all of it.
    LastGood,
    /// The newest texts contradict each other, and nothing was good before: nothing is in force. These are the newest, of
    /// each name the first.
    NotInForce,
}

/// Why a cluster does not answer a question.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// Nobody answers.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// The API server answers that it will not.
    #[error("{what}: {message}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The API server's words.
        message: String,
    },
    /// There are no labelled ConfigMaps.
    #[error("no ConfigMap labelled {CONFIG_LABEL}=true in {0}; name the rules with --rules PATH")]
    NoRules(String),
    /// Labelled ConfigMaps in more than one namespace: which injector is meant?
    #[error("ConfigMaps labelled {CONFIG_LABEL}=true lie in {}; say with --injector-namespace which are meant", .0.join(", "))]
    SeveralInjectors(Vec<String>),
}

impl Cluster {
    /// The cluster that [`cluster_config`] finds. Nobody is called yet.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        let mut config = cluster_config(kubeconfig, None).await?;
        config.connect_timeout = Some(PATIENCE);
        (config.read_timeout, config.reset_reader_on_write) = (Some(PATIENCE), true);
        let namespace = config.default_namespace.clone();
        Ok(Self { client: Client::try_from(config).map_err(ConnectError::Client)?, namespace })
    }

    /// The namespace of the kubeconfig's context.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// A pod as the API server writes it, JSON: a type of ours would lose fields.
    ///
    /// # Errors
    /// There is none, or the cluster does not answer.
    pub async fn pod(&self, namespace: &str, name: &str) -> Result<String, ClusterError> {
        let what = || format!("pod {namespace}/{name}");
        let pods = Request::new(format!("/api/v1/namespaces/{namespace}/pods"));
        let refused = |message: String| ClusterError::Refused { what: what(), message };
        let request = pods.get(name, &GetParams::default()).map_err(|error| refused(error.to_string()))?;
        self.client.request_text(request).await.map_err(|error| failed(what(), error))
    }

    /// Labels and annotations of a namespace.
    ///
    /// # Errors
    /// There is none, or the cluster does not answer.
    pub async fn facts(&self, namespace: &str) -> Result<NamespaceFacts, ClusterError> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let found = namespaces.get_metadata(namespace).await;
        let metadata = found.map_err(|error| failed(format!("namespace {namespace}"), error))?.metadata;
        Ok(NamespaceFacts {
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
        })
    }

    /// The rules in labelled ConfigMaps of `namespace`, or of the one namespace that has any.
    ///
    /// # Errors
    /// There are none, or more than one namespace has some, or the cluster does not answer.
    pub async fn rules(&self, namespace: Option<&str>) -> Result<StoredRules, ClusterError> {
        let config_maps: Api<ConfigMap> = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let labelled = ListParams::default().labels(&format!("{CONFIG_LABEL}=true"));
        let found = config_maps.list(&labelled).await;
        let found = found.map_err(|error| failed("ConfigMaps with rules".to_owned(), error))?.items;
        let namespace_of = |config_map: &ConfigMap| config_map.metadata.namespace.clone().unwrap_or_default();
        let namespaces: BTreeSet<String> = found.iter().map(namespace_of).collect();
        let mut namespaces: Vec<String> = namespaces.into_iter().collect();
        let Some(own) = namespaces.pop() else {
            let place = namespace.map_or("any namespace".to_owned(), |own| format!("namespace {own}"));
            return Err(ClusterError::NoRules(place));
        };
        if !namespaces.is_empty() {
            namespaces.push(own);
            return Err(ClusterError::SeveralInjectors(namespaces));
        }
        let of_one = |config_map: &ConfigMap| {
            sources(&own, config_map.metadata.name.as_deref().unwrap_or_default(), config_map)
        };
        let config_maps = Api::namespaced(self.client.clone(), &own);
        let good = LastGood { config_maps, name: LAST_GOOD.to_owned() }.read().await;
        let good = good.map(Option::unwrap_or_default);
        Ok(StoredRules {
            sources: found.iter().flat_map(of_one).collect(),
            good: good.map_err(|error| failed(format!("the ConfigMap {own}/{LAST_GOOD}"), error)),
            namespace: own,
        })
    }
}

impl StoredRules {
    /// What of them is in force. Where the newest contradict each other, as two rules of one name do, that is what was
    /// good last; without it nothing is, and an injector that starts is not ready.
    ///
    /// # Errors
    /// Everything that is wrong with them, where no document is good by itself.
    pub fn in_force(&self) -> Result<RulesInForce, LoadError> {
        let compiler = Compiler::new(Some(&self.namespace), &Arc::new(AtomicBool::new(true)));
        let good = self.good.as_deref().unwrap_or_default();
        let Settled { settled, errors: mut wrong } =
            settle(&self.sources, good, &compiler, &Patience::default());
        if let (false, Err(error)) = (wrong.is_empty(), &self.good) {
            wrong.push(Finding::Whole(format!("what was good last is not known: {error}")));
        }
        if let Some((snapshot, _)) = settled {
            return Ok(RulesInForce { rules: snapshot.rules().clone(), wrong, standing: Standing::InForce });
        }
        let of = |documents: &[Document]| {
            let texts: Vec<_> = documents.iter().map(Document::text).collect();
            compiler.compile(&texts, &Patience::default()).ok().map(|snapshot| snapshot.rules().clone())
        };
        if let Some(rules) = Some(good).filter(|good| !good.is_empty()).and_then(of) {
            return Ok(RulesInForce { rules, wrong, standing: Standing::LastGood });
        }
        let mut seen = HashSet::new();
        let documents = self.sources.iter().flat_map(Source::documents);
        let first: Vec<_> =
            documents.filter(|document| seen.insert(document.key().map(str::to_owned))).collect();
        let rules = of(&first).ok_or_else(|| LoadError::of(&wrong))?;
        Ok(RulesInForce { rules, wrong, standing: Standing::NotInForce })
    }
}

fn failed(what: String, error: kube::Error) -> ClusterError {
    match error {
        kube::Error::Api(status) => ClusterError::Refused { what, message: status.message },
        other => ClusterError::Unreachable(chain(&other)),
    }
}

/// What an error says, its causes among it: "connection refused" is the last of three.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut words: Vec<String> = Vec::new();
    for cause in causes.map(ToString::to_string) {
        if !words.iter().any(|said| said.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}
