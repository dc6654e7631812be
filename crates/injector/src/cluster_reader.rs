//! Reads pods, namespaces and rules from a cluster, for `explain` and `drift`.

mod pods;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, GetParams, ListParams, Request};
use kube::{Client, ResourceExt};
use vestibule::identity::{cluster_config, with_causes};
use vestibule::tooling::{NOT_AN_API_SERVER, UNAUTHORIZED};
use vestibule_rules::{NamespaceFacts, RuleSet};

pub use self::pods::{PodPages, StoredPod};

use crate::configuration::CONFIG_LABEL;
use crate::configuration::compiler::Compiler;
use crate::configuration::config_maps::all_sources;
use crate::configuration::finding::Finding;
use crate::configuration::last_good::{LAST_GOOD, LastGood, to_store};
use crate::configuration::namespaced::NamespacedSnapshot;
use crate::configuration::objects::{self, Defined};
use crate::configuration::proof_deadline::ProofDeadline;
use crate::configuration::resolve::{Resolution, resolve};
use crate::configuration::rule_object::{Injection, InjectorSettings, NamespacedInjection};
use crate::configuration::rule_source::{RuleDocument, RuleSource};
use crate::namespaces::{ConnectError, facts};
use crate::rule_files::LoadError;

/// The longest time that a cluster may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads pods, namespaces and rules from a cluster. It watches nothing and writes nothing.
pub struct ClusterReader {
    client: Client,
    namespace: String,
    address: String,
}

/// Rules in ConfigMaps and objects, before they are compiled.
pub struct StoredRules {
    /// The namespace of the ConfigMaps and of the injector, if it is known.
    namespace: Option<String>,
    sources: Vec<RuleSource>,
    /// The rules of namespaces; [`None`] without the right to read them.
    namespaced: Option<Vec<RuleSource>>,
    /// The last good documents if some are stored, or the reason why they cannot be read.
    last_good: Result<Option<Vec<RuleDocument>>, ClusterError>,
}

/// The rules that an injector which reads the same sources has in force.
pub struct RulesInForce {
    /// The newest good version of each document.
    pub rules: RuleSet,
    /// The errors in the newest texts.
    pub wrong: Vec<Finding>,
    /// Whether these rules are in force.
    pub status: RulesStatus,
    /// Whether the rules of namespaces are among them: not without the right to read these.
    pub has_namespaced: bool,
}

/// Whether rules that were read are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulesStatus {
    /// They are in force: the newest version of each document if it is good, else its last good version.
    InForce,
    /// The newest texts contradict each other, so the last good version of every document is in force.
    LastGood,
    /// The newest texts have errors or contradict each other, and no documents were good before, so no rules are in force. These
    /// are the newest documents without errors, the first of each name.
    NotInForce,
}

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// No API server answers.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// The API server has no answer for now: a page came too late, there were too many requests, or it failed.
    #[error("{what}: {message}; another attempt may succeed")]
    TryAgain {
        /// The object or objects of the request.
        what: String,
        /// The API server's message.
        message: String,
    },
    /// The API server refuses the request.
    #[error("{what}: {message}")]
    Refused {
        /// The object or objects of the request.
        what: String,
        /// The API server's message.
        message: String,
    },
    /// There are neither labelled ConfigMaps nor objects.
    #[error(
        "no ConfigMap labelled {CONFIG_LABEL}=true in {0}, and no Injection; name the rules with --rules PATH"
    )]
    NoRules(String),
    /// ConfigMaps with rules are in more than one namespace, so it is not known which injector is meant.
    #[error("ConfigMaps with rules lie in {}; say with --injector-namespace which are meant", .0.join(", "))]
    SeveralInjectors(Vec<String>),
}

impl ClusterReader {
    /// The cluster that [`cluster_config`] finds. No request is sent yet.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        let mut config = cluster_config(kubeconfig, None).await?;
        config.connect_timeout = Some(TIMEOUT);
        (config.read_timeout, config.reset_reader_on_write) = (Some(TIMEOUT), true);
        let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = Client::try_from(config).map_err(ConnectError::Client)?;
        Ok(Self { client, namespace, address })
    }

    /// The URL of the API server.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The namespace of the kubeconfig's context.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// A pod as the JSON of the API server, with the fields that no type of `k8s-openapi` has.
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
        Ok(facts(&metadata))
    }

    /// The rules in Injections and InjectorSettings, and those in labelled ConfigMaps of `namespace`, or of the one namespace
    /// that has any.
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
        let namespaces: BTreeSet<String> = found.iter().filter_map(ResourceExt::namespace).collect();
        let namespaces: Vec<String> = namespaces.into_iter().collect();
        let (defined, objects) = self.objects().await?;
        let own = match namespaces.as_slice() {
            [own] => Ok(Some(own.clone())),
            [] if objects.is_empty() => {
                if let Defined::AllBut(missing) = defined {
                    let what = "Injections".to_owned();
                    return Err(ClusterError::Refused { what, message: objects::incomplete(missing) });
                }
                let place = namespace.map_or("any namespace".to_owned(), |own| format!("namespace {own}"));
                return Err(ClusterError::NoRules(place));
            }
            [] => match namespace {
                Some(own) => Ok(Some(own.to_owned())),
                None => self.namespace_of_last_good().await,
            },
            _ => return Err(ClusterError::SeveralInjectors(namespaces)),
        };
        let (own, last_good) = match own {
            Ok(Some(own)) => {
                let read = LastGood::new(self.client.clone(), &own).read().await;
                let read = read.map_err(|error| failed(format!("the ConfigMap {own}/{LAST_GOOD}"), error));
                (Some(own), read)
            }
            Ok(None) => (None, Ok(None)),
            Err(error) => (None, Err(error)),
        };
        let mut sources = own.as_ref().map(|own| all_sources(own, &found)).unwrap_or_default();
        sources.extend(objects);
        let namespaced = self.namespaced().await?;
        Ok(StoredRules { sources, namespaced, last_good, namespace: own })
    }

    /// The texts of all Injections and InjectorSettings; none on a cluster without both definitions, as in an injector.
    async fn objects(&self) -> Result<(Defined, Vec<RuleSource>), ClusterError> {
        let read = async {
            let defined = Defined::read(&self.client).await?;
            let mut sources = Vec::new();
            if matches!(defined, Defined::All) {
                sources = objects::stored::<Injection>(&self.client).await?;
                sources.extend(objects::stored::<InjectorSettings>(&self.client).await?);
            }
            Ok((defined, sources))
        };
        read.await.map_err(|error| failed("Injections".to_owned(), error))
    }

    /// The texts of all rules of namespaces, none on a cluster without their definition; [`None`] without the right to read them.
    async fn namespaced(&self) -> Result<Option<Vec<RuleSource>>, ClusterError> {
        match objects::stored::<NamespacedInjection>(&self.client).await {
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Some(Vec::new())),
            found => found.map(Some).map_err(|error| failed("NamespacedInjections".to_owned(), error)),
        }
    }

    /// The namespace of the injector, by the ConfigMap with its last good rules.
    async fn namespace_of_last_good(&self) -> Result<Option<String>, ClusterError> {
        let named = ListParams::default().fields(&format!("metadata.name={LAST_GOOD}"));
        let found = Api::<ConfigMap>::all(self.client.clone()).list_metadata(&named).await;
        let found = found.map_err(|error| failed(format!("ConfigMaps {LAST_GOOD}"), error))?.items;
        Ok(match found.as_slice() {
            [] => None,
            [one] => one.namespace(),
            all => {
                return Err(ClusterError::SeveralInjectors(
                    all.iter().filter_map(ResourceExt::namespace).collect(),
                ));
            }
        })
    }
}

impl RulesInForce {
    /// For a cluster without rules.
    pub fn none() -> Self {
        let (rules, wrong) = (RuleSet::default(), Vec::new());
        Self { rules, wrong, status: RulesStatus::InForce, has_namespaced: true }
    }
}

impl StoredRules {
    /// The rules in force. If the newest documents contradict each other, as two rules of one name do, these are the last good
    /// ones; with errors and without last good ones no rules are in force, and an injector that starts is not ready.
    ///
    /// # Errors
    /// All findings, if no document is good by itself.
    pub fn in_force(&self) -> Result<RulesInForce, LoadError> {
        let compiler = Compiler::new(self.namespace.as_deref());
        let last_good = self.last_good.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        let Resolution { in_force, errors: mut wrong } =
            resolve(&self.sources, last_good, &compiler, &ProofDeadline::none());
        let unknown = match &self.last_good {
            Ok(Some(_)) => None,
            Ok(None) => to_store(&self.documents())
                .err()
                .map(|error| format!("the documents are not stored: {error}")),
            Err(error) => Some(error.to_string()),
        };
        let nothing_was_good = self.last_good.as_ref().is_ok_and(Option::is_none) && unknown.is_none();
        let status = match nothing_was_good && !wrong.is_empty() {
            true => RulesStatus::NotInForce,
            false => RulesStatus::InForce,
        };
        if let (false, Some(why)) = (wrong.is_empty(), unknown) {
            wrong.push(Finding::RuleSet(format!("what was good last is not known: {why}")));
        }
        if let Some((snapshot, _)) = in_force {
            let rules = snapshot.rules().clone();
            let none = NamespacedSnapshot::default();
            let namespaced = self.namespaced.as_deref().unwrap_or_default();
            let own = NamespacedSnapshot::compile(namespaced, &rules, &none, &compiler);
            wrong.extend(own.findings.iter().filter(|finding| finding.is_error()).cloned());
            let rules = rules.with_namespaced(own.rules.clone());
            let has_namespaced = self.namespaced.is_some();
            return Ok(RulesInForce { rules, wrong, status, has_namespaced });
        }
        let of = |documents: &[RuleDocument]| {
            let texts: Vec<_> = documents.iter().map(RuleDocument::text).collect();
            compiler.compile(&texts, &ProofDeadline::none()).ok()
        };
        if let Some(rules) = Some(last_good).filter(|documents| !documents.is_empty()).and_then(of) {
            return Ok(RulesInForce { rules, wrong, status: RulesStatus::LastGood, has_namespaced: false });
        }
        let mut seen = HashSet::new();
        let documents = self.documents().into_iter();
        let first: Vec<_> = documents.filter(|document| seen.insert(document.key.clone())).collect();
        let rules = of(&first).ok_or_else(|| LoadError::of(&wrong))?;
        Ok(RulesInForce { rules, wrong, status: RulesStatus::NotInForce, has_namespaced: false })
    }

    fn documents(&self) -> Vec<RuleDocument> {
        self.sources.iter().flat_map(RuleSource::documents).collect()
    }
}

fn failed(what: String, error: kube::Error) -> ClusterError {
    match error {
        kube::Error::Api(status) if matches!(status.code, 410 | 429 | 500..) => {
            ClusterError::TryAgain { what, message: status.message }
        }
        kube::Error::Api(status) if status.code == 401 => {
            ClusterError::Refused { what, message: UNAUTHORIZED.to_owned() }
        }
        kube::Error::Api(status) if status.code != 0 => {
            ClusterError::Refused { what, message: status.message }
        }
        kube::Error::Api(_) | kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            ClusterError::Refused { what, message: NOT_AN_API_SERVER.to_owned() }
        }
        other => ClusterError::Unreachable(with_causes(&other)),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use kube::core::Status;

    use super::*;

    /// Rules of a cluster were said to be in force while its injector waited for a first version without errors.
    #[test]
    fn with_errors_and_no_last_good_documents_no_rules_are_in_force() {
        let rule = |part| {
            format!(
                "{{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {{name: {part}}}, spec: {{optIn: pod, pod: {{{part}: {{a: b}}}}}}}}"
            )
        };
        let sources = ["labels", "lables"].map(|part| RuleSource::new(part, rule(part))).into();
        let mut stored =
            StoredRules { namespace: None, sources, namespaced: Some(Vec::new()), last_good: Ok(None) };
        let in_force = stored.in_force().unwrap();
        assert_eq!((in_force.wrong.len(), in_force.status), (1, RulesStatus::NotInForce));
        stored.last_good = Ok(Some(Vec::new()));
        assert_eq!(stored.in_force().unwrap().status, RulesStatus::InForce);
        stored.last_good = Ok(None);
        // No ConfigMap holds such documents, so the replicas have the last good ones in memory alone.
        stored
            .sources
            .push(RuleSource::new("long", format!("{}\n# {}", rule("annotations"), "x".repeat(1 << 20))));
        let in_force = stored.in_force().unwrap();
        assert_eq!(in_force.status, RulesStatus::InForce);
        assert!(in_force.wrong[1].headline().contains("the documents are not stored: they take"));
        stored.sources.truncate(1);
        assert_eq!(stored.in_force().unwrap().status, RulesStatus::InForce);
    }

    fn answered_by(client: Client) -> ClusterReader {
        ClusterReader { client, namespace: "a".to_owned(), address: String::new() }
    }

    /// `drift` said that every pod has the rules in force, on a cluster whose injector reads no Injection.
    #[tokio::test]
    async fn a_cluster_with_one_definition_has_no_rules_and_says_why() {
        let rules = async |resources: &'static str| {
            let answering = tower::service_fn(move |request: Request<Body>| async move {
                let body = match request.uri().path() {
                    "/api/v1/configmaps" => r#"{"metadata": {}, "items": []}"#.to_owned(),
                    _ => {
                        format!(r#"{{"groupVersion": "vestibule.dev/v1alpha1", "resources": [{resources}]}}"#)
                    }
                };
                Ok::<_, Infallible>(Response::new(Body::from(body.into_bytes())))
            });
            answered_by(Client::new(answering, "a")).rules(None).await.err().unwrap()
        };
        let injections = r#"{"name": "injections", "singularName": "", "namespaced": false, "kind": "Injection", "verbs": []}"#;
        let error = rules(injections).await;
        assert!(matches!(error, ClusterError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("no definition of InjectorSettings"), "{error}");
        assert!(matches!(rules("").await, ClusterError::NoRules(_)));
    }

    /// The text of the error quoted the answer, and called the cluster unreachable.
    #[tokio::test]
    async fn an_answer_of_another_shape_is_not_quoted() {
        let answering = tower::service_fn(async |_: Request<Body>| {
            let body = r#"{"metadata": {}, "items": [{"metadata": {"name": "a"}, "data": "hunter2"}]}"#;
            Ok::<_, Infallible>(Response::new(Body::from(body.as_bytes().to_vec())))
        });
        let error = answered_by(Client::new(answering, "a")).rules(None).await.err().unwrap();
        assert!(matches!(error, ClusterError::Refused { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(NOT_AN_API_SERVER) && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn an_answer_that_another_attempt_may_change_is_told_from_a_refusal() {
        for (code, is_temporary) in
            [(400, false), (403, false), (404, false), (410, true), (429, true), (500, true), (504, true)]
        {
            let status = Box::new(Status { code, ..Status::failure("try again", "Reason") });
            let error = failed("pods".to_owned(), kube::Error::Api(status));
            assert_eq!(matches!(error, ClusterError::TryAgain { .. }), is_temporary, "{code}");
            assert!(error.to_string().starts_with("pods: try again"), "{error}");
        }
    }
}
