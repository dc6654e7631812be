//! What is known about namespaces.

mod watched;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use vestibule::WatchState;
use vestibule::identity::{ClusterConfigError, cluster_config};
use vestibule_rules::NamespaceFacts;

use watched::Watched;

/// Where labels and annotations of namespaces come from; a review does not carry them.
#[derive(Clone, Default)]
pub struct Namespaces(Source);

#[derive(Clone, Default)]
enum Source {
    #[default]
    Unknown,
    Fixed(Arc<NamespaceFacts>),
    Watched(Arc<Watched>),
}

/// Why there is no connection to a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no configuration of a cluster, or it cannot be used.
    #[error(transparent)]
    Config(#[from] ClusterConfigError),
    /// The client cannot be made of the configuration.
    #[error("the cluster's configuration cannot be used: {0}")]
    Client(#[source] kube::Error),
}

/// A client of the cluster that [`cluster_config`] finds. Nobody is called yet.
///
/// # Errors
/// The kubeconfig cannot be used, or none is there.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let config = cluster_config(kubeconfig, None).await?;
    vestibule::identity::client(config).map_err(ConnectError::Client)
}

/// Not now: the namespaces are still being read, or one cannot be.
pub(crate) struct NotReady(pub(crate) String);

impl Namespaces {
    /// Nothing is known: enough for rules that do not ask.
    pub fn unknown() -> Self {
        Self(Source::Unknown)
    }

    /// Every namespace has these labels: for laptops and tests.
    pub fn labelled<K: Into<String>, V: Into<String>>(labels: impl IntoIterator<Item = (K, V)>) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(Source::Fixed(Arc::new(NamespaceFacts { labels, ..NamespaceFacts::default() })))
    }

    /// The namespaces of a cluster, watched (their metadata only). Needs a Tokio runtime; the watch ends when the last
    /// clone is dropped.
    pub fn watched(client: Client) -> Self {
        Self(Source::Watched(Arc::new(Watched::start(client))))
    }

    /// The namespaces of the cluster that [`cluster_config`] finds. A cluster that is not there yet is no error: the
    /// webhook is not ready until its namespaces have been read.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self, ConnectError> {
        Ok(Self::watched(connect(kubeconfig).await?))
    }

    /// The way to the cluster that they come from.
    pub(crate) fn client(&self) -> Option<Client> {
        match &self.0 {
            Source::Unknown | Source::Fixed(_) => None,
            Source::Watched(watched) => Some(watched.client()),
        }
    }

    /// How their watch fares, if there is one.
    pub(crate) fn watch(&self) -> Option<WatchState> {
        match &self.0 {
            Source::Unknown | Source::Fixed(_) => None,
            Source::Watched(watched) => Some(watched.state()),
        }
    }

    pub(crate) fn are_known(&self) -> bool {
        !matches!(self.0, Source::Unknown)
    }

    /// For [`App::ready_when`](vestibule::App::ready_when), where there is something to wait for.
    pub(crate) fn ready(&self) -> Option<impl Fn() -> bool + Send + Sync + 'static> {
        match &self.0 {
            Source::Unknown | Source::Fixed(_) => None,
            Source::Watched(watched) => {
                let watched = Arc::clone(watched);
                Some(move || watched.is_ready())
            }
        }
    }

    /// What is known about `namespace`; asks the cluster, `until` then at most, where the
    /// watch has not seen it yet.
    pub(crate) async fn facts(
        &self,
        namespace: &str,
        until: Instant,
    ) -> Result<Option<Arc<NamespaceFacts>>, NotReady> {
        match &self.0 {
            Source::Unknown => Ok(None),
            Source::Fixed(facts) => Ok(Some(Arc::clone(facts))),
            Source::Watched(watched) => Ok(watched.facts(namespace, until).await?.map(Arc::new)),
        }
    }
}
