//! Labels and annotations of namespaces.

mod watched;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use vestibule::identity::{ClusterConfigError, cluster_config};
use vestibule::tooling::WatchState;
use vestibule_rules::NamespaceFacts;

use watched::Watched;

/// The source of the labels and annotations of namespaces, which a review does not carry.
#[derive(Clone, Default)]
pub struct Namespaces(NamespaceSource);

#[derive(Clone, Default)]
enum NamespaceSource {
    #[default]
    Unknown,
    Fixed(Arc<NamespaceFacts>),
    Watched(Arc<Watched>),
}

/// Why a client for a cluster cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No configuration of a cluster was found, or it cannot be used.
    #[error(transparent)]
    Config(#[from] ClusterConfigError),
    /// The client cannot be made of the configuration.
    #[error("the cluster's configuration cannot be used: {0}")]
    Client(#[source] kube::Error),
}

/// A client of the cluster that [`cluster_config`] finds. No request is sent yet.
///
/// # Errors
/// The kubeconfig cannot be used, or none is there.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let config = cluster_config(kubeconfig, None).await?;
    vestibule::identity::client(config).map_err(ConnectError::Client)
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
        Self(NamespaceSource::Watched(Arc::new(Watched::start(client))))
    }

    /// The namespaces of the cluster that [`cluster_config`] finds. A cluster that does not answer yet is no error: the
    /// webhook is not ready until its namespaces have been read.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        Ok(Self::watched(connect(kubeconfig).await?))
    }

    /// The client of the cluster that is watched.
    pub(crate) fn client(&self) -> Option<Client> {
        self.as_watched().map(|watched| watched.client())
    }

    /// The state of the watch, if there is one.
    pub(crate) fn watch(&self) -> Option<WatchState> {
        self.as_watched().map(|watched| watched.state())
    }

    pub(crate) fn are_known(&self) -> bool {
        !matches!(self.0, NamespaceSource::Unknown)
    }

    /// The readiness for [`App::ready_when`](vestibule::App::ready_when), if namespaces are watched.
    pub(crate) fn ready(&self) -> Option<impl Fn() -> bool + Send + Sync + 'static> {
        let watched = Arc::clone(self.as_watched()?);
        Some(move || watched.is_ready())
    }

    /// Labels and annotations of `namespace`. A namespace that the watch has not reported yet is read from the API server,
    /// which may take `until` then.
    pub(crate) async fn facts(
        &self,
        namespace: &str,
        until: Instant,
    ) -> Result<Option<Arc<NamespaceFacts>>, NotReady> {
        match &self.0 {
            NamespaceSource::Unknown => Ok(None),
            NamespaceSource::Fixed(facts) => Ok(Some(Arc::clone(facts))),
            NamespaceSource::Watched(watched) => Ok(watched.facts(namespace, until).await?.map(Arc::new)),
        }
    }

    fn as_watched(&self) -> Option<&Arc<Watched>> {
        match &self.0 {
            NamespaceSource::Watched(watched) => Some(watched),
            NamespaceSource::Unknown | NamespaceSource::Fixed(_) => None,
        }
    }
}
