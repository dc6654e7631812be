//! The rules that are in force, from files or from ConfigMaps.

pub(crate) mod compiler;
pub(crate) mod config_maps;
pub(crate) mod finding;
mod folder;
pub(crate) mod last_good;
mod metrics;
pub(crate) mod proof_deadline;
pub(crate) mod reloader;
pub(crate) mod resolve;
pub(crate) mod rule_source;
pub(crate) mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::{Api, Client};
pub(crate) use metrics::ConfigurationCollector;
use tokio::sync::watch;
use vestibule::tooling::{Entries, WatchState};
pub use vestibule_rules::CONFIG_LABEL;
use vestibule_rules::RuleSet;

use self::compiler::Compiler;
use self::finding::Finding;
use self::last_good::LastGood;
use self::reloader::Reloader;
use self::snapshot::{Snapshot, SnapshotState};
use crate::events::Events;
use crate::registration;
use crate::sources::{LoadError, read};
use crate::task::AbortOnDrop;

/// The ConfigMap that stores the last good documents. It does not have the label of ConfigMaps with rules.
pub(crate) const LAST_GOOD: &str = "injector-last-good";

/// The rules that are in force: a sequence of immutable [`Snapshot`]s.
///
/// When texts change, a broken document keeps its last good version, and the others advance. Documents that contradict each
/// other change nothing. A deleted document is gone at once.
///
/// A clone is cheap and sees the same snapshots. The task that follows the texts ends with the last clone.
///
/// ```
/// use vestibule_injector::{Configuration, compile};
///
/// let rules = compile([]).map_err(|findings| findings[0].headline())?;
/// let configuration = Configuration::fixed(rules);
/// assert!(configuration.current().rules().rules().is_empty());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct Configuration {
    snapshots: watch::Receiver<Arc<Snapshot>>,
    config_maps: Option<ConfigMaps>,
    knows_namespaces: Arc<AtomicBool>,
    /// The webhook entries for the rules in force.
    entries: Entries,
    _following: Option<Arc<AbortOnDrop>>,
}

/// The ConfigMaps that hold the rules.
#[derive(Clone)]
struct ConfigMaps {
    namespace: String,
    /// [`None`] for rules that are only printed, without a cluster.
    watched: Option<Watched>,
}

#[derive(Clone)]
struct Watched {
    reloader: Arc<Reloader>,
    client: Client,
    watch: WatchState,
}

impl Configuration {
    /// Rules that never change.
    pub fn fixed(rules: RuleSet) -> Self {
        Self::unchanging(rules, None)
    }

    /// Rules as if they came from ConfigMaps of `namespace`, without a cluster: for manifests of an injector that reads them
    /// there.
    pub fn installed(rules: RuleSet, namespace: &str) -> Self {
        Self::unchanging(rules, Some(ConfigMaps { namespace: namespace.to_owned(), watched: None }))
    }

    /// The rules of a file or folder, which is read again when its content changes. Objects in `own_namespace` are left alone
    /// unless the InjectorSettings say otherwise. Needs a Tokio runtime.
    ///
    /// # Errors
    /// A file cannot be read, or documents are wrong: the error lists all findings.
    pub fn from_path(path: &Path, own_namespace: Option<&str>) -> Result<Self, LoadError> {
        Self::from_paths(&[path.to_owned()], own_namespace)
    }

    /// [`Configuration::from_path`] for several files and folders, whose rules are in force together.
    ///
    /// # Errors
    /// See [`Configuration::from_path`].
    pub fn from_paths(paths: &[PathBuf], own_namespace: Option<&str>) -> Result<Self, LoadError> {
        let found = read(paths)?;
        let knows_namespaces = Arc::new(AtomicBool::new(true));
        let compiler = Compiler::new(own_namespace, &knows_namespaces);
        let (reloader, mut snapshots) = Reloader::new(compiler, "the first rules");
        reloader.reload(found);
        let first = Arc::clone(&snapshots.borrow_and_update());
        if first.state() == SnapshotState::Waiting {
            return Err(LoadError::of(first.findings()));
        }
        if first.rules().rules().is_empty() {
            return Err(LoadError::Empty(paths.first().cloned().unwrap_or_default()));
        }
        let following = folder::follow(paths.to_vec(), reloader);
        Ok(Self::following(following, snapshots, None, knows_namespaces))
    }

    /// The rules of the ConfigMaps in `namespace`, the injector's own, that are labelled [`CONFIG_LABEL`]`=true`, followed
    /// by a watch. The last good documents are stored in the ConfigMap `injector-last-good`, for a restart while a document is
    /// broken. Needs a Tokio runtime.
    pub fn from_config_maps(client: Client, namespace: &str) -> Self {
        let knows_namespaces = Arc::new(AtomicBool::new(true));
        let compiler = Compiler::new(Some(namespace), &knows_namespaces);
        let (reloader, snapshots) = Reloader::new(compiler, "the ConfigMaps with rules are being read");
        let config_maps = Api::namespaced(client.clone(), namespace);
        let last_good = LastGood { config_maps, name: LAST_GOOD.to_owned() };
        let events = Events::new(client.clone());
        let (watch_client, watch) = WatchState::listening(&client);
        let watched = (Api::namespaced(watch_client, namespace), watch.clone());
        let following =
            config_maps::follow(watched, namespace.to_owned(), last_good, Arc::clone(&reloader), events);
        let watched = Some(Watched { reloader, client, watch });
        let config_maps = ConfigMaps { namespace: namespace.to_owned(), watched };
        Self::following(following, snapshots, Some(config_maps), knows_namespaces)
    }

    /// The snapshot in force. A call reads it once and is decided by that snapshot alone.
    pub fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Waits for the next snapshot that this clone has not seen; forever, if the rules never change.
    pub async fn changed(&mut self) -> Arc<Snapshot> {
        match self.snapshots.changed().await {
            Ok(()) => Arc::clone(&self.snapshots.borrow_and_update()),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether rules are in force.
    ///
    /// # Errors
    /// No good rules have been read yet: what is missing, or wrong.
    pub fn ready(&self) -> Result<(), String> {
        const MAX_FINDINGS: usize = 5;
        let snapshot = self.snapshots.borrow();
        if snapshot.state() != SnapshotState::Waiting {
            return Ok(());
        }
        let words = |finding: &Finding| match finding {
            Finding::RuleSet(problem) => problem.clone(),
            other => other.headline(),
        };
        let mut words: Vec<_> = snapshot.findings().iter().take(MAX_FINDINGS).map(words).collect();
        let more = snapshot.findings().len().saturating_sub(MAX_FINDINGS);
        words.extend((more > 0).then(|| format!("and {more} more")));
        Err(words.join("; "))
    }

    /// The namespace whose ConfigMaps hold the rules, if they come from ConfigMaps.
    pub fn config_maps(&self) -> Option<&str> {
        self.config_maps.as_ref().map(|config_maps| &*config_maps.namespace)
    }

    /// The client of the cluster whose ConfigMaps are watched.
    pub(crate) fn client(&self) -> Option<Client> {
        self.watched().map(|watched| watched.client.clone())
    }

    /// The state of the watch on the ConfigMaps.
    pub(crate) fn watch(&self) -> Option<WatchState> {
        self.watched().map(|watched| watched.watch.clone())
    }

    /// The reloader of the rules in ConfigMaps.
    pub(crate) fn reloader(&self) -> Option<Arc<Reloader>> {
        self.watched().map(|watched| Arc::clone(&watched.reloader))
    }

    fn watched(&self) -> Option<&Watched> {
        self.config_maps.as_ref()?.watched.as_ref()
    }

    /// Sets whether rules may read labels of namespaces.
    pub(crate) fn set_knows_namespaces(&self, known: bool) {
        self.knows_namespaces.store(known, Ordering::Relaxed);
    }

    /// The webhook entries for the rules in force. They are set after the snapshot that they belong to.
    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    fn unchanging(rules: RuleSet, config_maps: Option<ConfigMaps>) -> Self {
        let snapshot = Arc::new(Snapshot::new(rules));
        let entries = registration::hook_entries();
        registration::publish(&snapshot, &entries);
        let (_, snapshots) = watch::channel(snapshot);
        Self { snapshots, config_maps, knows_namespaces: Arc::default(), entries, _following: None }
    }

    fn following(
        sources: impl Future<Output = ()> + Send + 'static,
        snapshots: watch::Receiver<Arc<Snapshot>>,
        config_maps: Option<ConfigMaps>,
        knows_namespaces: Arc<AtomicBool>,
    ) -> Self {
        let entries = registration::hook_entries();
        registration::publish(&snapshots.borrow(), &entries);
        let registering = registration::follow(snapshots.clone(), entries.clone());
        let tasks = AbortOnDrop::spawn(async move { tokio::join!(sources, registering) });
        let following = Some(Arc::new(tasks));
        Self { snapshots, config_maps, knows_namespaces, entries, _following: following }
    }
}

impl From<RuleSet> for Configuration {
    fn from(rules: RuleSet) -> Self {
        Self::fixed(rules)
    }
}
