//! The pods of a cluster and the labels of their namespaces, for `drift`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::value::RawValue;
use vestibule_rules::NamespaceFacts;

use super::{ClusterError, ClusterReader, failed};
use crate::namespaces::facts;
use crate::pages::Pages;

/// A pod that has not ended. No `Debug`: it may hold secrets.
#[non_exhaustive]
pub struct StoredPod {
    /// The JSON of the API server, with the fields that no type of `k8s-openapi` has.
    pub json: Box<RawValue>,
    /// Its metadata.
    pub metadata: ObjectMeta,
}

/// The pods of a namespace or of a cluster, read by pages of 250.
pub struct PodPages(Pages<Box<RawValue>>);

#[derive(Deserialize)]
struct WithMetadata {
    metadata: ObjectMeta,
}

impl ClusterReader {
    /// The pods of `namespace`, or of all namespaces, that have not ended. No request is sent yet.
    pub fn pods(&self, namespace: Option<&str>) -> PodPages {
        PodPages(Pages::of_pods(&self.client, namespace))
    }

    /// Labels and annotations of `namespace`, or of all namespaces, by name; [`None`] without the right to read them.
    ///
    /// # Errors
    /// The namespace does not exist, or the cluster does not answer.
    pub async fn namespaces(
        &self,
        namespace: Option<&str>,
    ) -> Result<Option<BTreeMap<String, NamespaceFacts>>, ClusterError> {
        let what = || namespace.map_or("namespaces".to_owned(), |name| format!("namespace {name}"));
        let selector = namespace.map(|name| format!("metadata.name={name}"));
        let mut pages = Pages::<WithMetadata>::new(&self.client, "/api/v1/namespaces", selector.as_deref());
        pages = pages.metadata_only();
        let mut found = BTreeMap::new();
        loop {
            match pages.next().await {
                Ok(Some(page)) => found.extend(
                    page.into_iter()
                        .map(|it| (it.metadata.name.clone().unwrap_or_default(), facts(&it.metadata))),
                ),
                Ok(None) => break,
                Err(kube::Error::Api(status)) if status.code == 403 => return Ok(None),
                Err(error) => return Err(failed(what(), error)),
            }
        }
        match namespace {
            Some(name) if found.is_empty() => Err(ClusterError::Refused {
                what: what(),
                message: format!("namespaces \"{name}\" not found"),
            }),
            _ => Ok(Some(found)),
        }
    }
}

impl PodPages {
    /// The pods of the next page; [`None`] after the last one.
    ///
    /// # Errors
    /// The cluster refuses the list, or does not answer.
    pub async fn next(&mut self) -> Result<Option<Vec<StoredPod>>, ClusterError> {
        let page = self.0.next().await.map_err(|error| failed("pods".to_owned(), error))?;
        let stored = |json: Box<RawValue>| {
            let WithMetadata { metadata } = serde_json::from_str(json.get())
                .map_err(|error| failed("pods".to_owned(), kube::Error::SerdeError(error)))?;
            Ok(StoredPod { json, metadata })
        };
        page.map(|page| page.into_iter().map(stored).collect()).transpose()
    }
}
