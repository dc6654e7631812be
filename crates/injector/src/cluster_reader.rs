//! Reads pods, namespaces and rules from a cluster, for `explain` and `drift`.

mod error;
mod pods;
mod stored_rules;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, GetParams, ListParams, Request};
use kube::{Client, ResourceExt};
use vestibule_rules::NamespaceFacts;

pub use self::error::ClusterError;
use self::error::failed;
pub use self::pods::{PodPages, StoredPod};
pub use self::stored_rules::{RulesInForce, RulesStatus, StoredRules};

use crate::configuration::CONFIG_LABEL;
use crate::configuration::config_maps::all_sources;
use crate::configuration::last_good::{LAST_GOOD, LastGood};
use crate::configuration::objects::{self, Defined};
use crate::configuration::rule_object::{Injection, InjectorSettings, NamespacedInjection};
use crate::configuration::rule_source::RuleSource;
use crate::namespaces::facts;

/// Reads pods, namespaces and rules from a cluster. It watches nothing and writes nothing.
pub struct ClusterReader {
    client: Client,
}

impl ClusterReader {
    /// Reads with this client.
    pub fn new(client: Client) -> Self {
        Self { client }
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use vestibule::tooling::RequestError;

    use super::*;

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
            ClusterReader::new(Client::new(answering, "a")).rules(None).await.err().unwrap()
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
        let error = ClusterReader::new(Client::new(answering, "a")).rules(None).await.err().unwrap();
        assert!(matches!(error, ClusterError::Refused { .. }), "{error}");
        let error = error.to_string();
        assert!(
            error.contains(&RequestError::NotAnApiServer.to_string()) && !error.contains("hunter2"),
            "{error}"
        );
    }
}
