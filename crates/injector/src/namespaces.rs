//! Labels and annotations of namespaces.

use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{ObjectMeta, PartialObjectMeta};
use vestibule::tooling::is_dns_label;
use vestibule::{LookupError, Watch, Watched};
use vestibule_rules::NamespaceFacts;

/// The source of the labels and annotations of namespaces, which a review does not carry.
#[derive(Clone, Default)]
pub struct Namespaces(NamespaceSource);

#[derive(Clone, Default)]
enum NamespaceSource {
    #[default]
    Unknown,
    Fixed(Arc<NamespaceFacts>),
    Watched(WatchedNamespaces),
}

/// The namespaces of a cluster, by a watch of their metadata.
#[derive(Clone)]
pub(crate) struct WatchedNamespaces {
    pub(crate) client: Client,
    pub(crate) namespaces: Watched<PartialObjectMeta<Namespace>>,
}

/// The namespaces are still being read, or a namespace cannot be read; with the words for the answer.
pub(crate) struct NotReady(pub(crate) String);

impl Namespaces {
    /// No labels are known. This is enough for rules that do not read labels of namespaces.
    pub fn unknown() -> Self {
        Self(NamespaceSource::Unknown)
    }

    /// Every namespace has these labels. For laptops and tests.
    pub fn labelled<K: Into<String>, V: Into<String>>(labels: impl IntoIterator<Item = (K, V)>) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(NamespaceSource::Fixed(Arc::new(NamespaceFacts { labels, ..NamespaceFacts::default() })))
    }

    /// The namespaces of a cluster, watched (their metadata only). Needs a Tokio runtime; the watch ends when the last
    /// clone is dropped.
    pub fn watched(client: Client) -> Self {
        let namespaces = Watched::start(&client, Watch::new());
        Self(NamespaceSource::Watched(WatchedNamespaces { client, namespaces }))
    }

    pub(crate) fn are_known(&self) -> bool {
        !matches!(self.0, NamespaceSource::Unknown)
    }

    /// The namespaces of a cluster, if they are watched.
    pub(crate) fn as_watched(&self) -> Option<&WatchedNamespaces> {
        match &self.0 {
            NamespaceSource::Watched(watched) => Some(watched),
            NamespaceSource::Unknown | NamespaceSource::Fixed(_) => None,
        }
    }

    /// Labels and annotations of `namespace`; [`None`] if they are unknown, or there is no such namespace. A namespace that the
    /// watch has not reported yet is read from the API server, which may take 80 % of the time until `deadline`, and 10 s at most; calls share that read.
    pub(crate) async fn facts(
        &self,
        namespace: &str,
        deadline: Instant,
    ) -> Result<Option<Arc<NamespaceFacts>>, NotReady> {
        let watched = match &self.0 {
            NamespaceSource::Unknown => return Ok(None),
            NamespaceSource::Fixed(facts) => return Ok(Some(Arc::clone(facts))),
            NamespaceSource::Watched(watched) => &watched.namespaces,
        };
        if !watched.is_synced() {
            return Err(NotReady("namespaces are being read".to_owned()));
        }
        // No namespace has another name.
        if !is_dns_label(namespace) {
            return Ok(None);
        }
        found(namespace, watched.lookup(deadline).get(namespace).await)
    }
}

impl WatchedNamespaces {
    /// Labels and annotations of `namespace` as the API server has them now, not as the watch last reported them.
    pub(crate) async fn fresh_facts(
        &self,
        namespace: &str,
        deadline: Instant,
    ) -> Result<Option<Arc<NamespaceFacts>>, NotReady> {
        match is_dns_label(namespace) {
            true => found(namespace, self.namespaces.lookup(deadline).fresh(namespace).await),
            false => Ok(None),
        }
    }
}

fn found(
    namespace: &str,
    read: Result<Option<Arc<PartialObjectMeta<Namespace>>>, LookupError>,
) -> Result<Option<Arc<NamespaceFacts>>, NotReady> {
    match read {
        Ok(found) => Ok(found.map(|found| Arc::new(facts(&found.metadata)))),
        Err(error) => {
            tracing::warn!(namespace, %error, "a namespace cannot be read from the API server");
            Err(NotReady(format!("namespace {namespace} cannot be read")))
        }
    }
}

/// The labels and annotations of a namespace with this metadata.
pub(crate) fn facts(metadata: &ObjectMeta) -> NamespaceFacts {
    NamespaceFacts {
        labels: metadata.labels.clone().unwrap_or_default(),
        annotations: metadata.annotations.clone().unwrap_or_default(),
    }
}
