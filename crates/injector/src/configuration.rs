//! The rules that are in force, from files or from a cluster.

mod cluster;
pub(crate) mod compiler;
pub(crate) mod config_maps;
pub(crate) mod finding;
mod folder;
pub(crate) mod last_good;
mod metrics;
pub(crate) mod namespaced;
pub(crate) mod objects;
pub(crate) mod proof_deadline;
mod published_entries;
pub(crate) mod reloader;
pub(crate) mod resolve;
pub(crate) mod rule_object;
pub(crate) mod rule_source;
pub(crate) mod snapshot;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
pub(crate) use metrics::ConfigurationCollector;
use tokio::sync::watch;
use tokio::task::JoinSet;
use vestibule::tooling::Entries;
use vestibule::{WatchState, Watched};
pub use vestibule_rules::CONFIG_LABEL;
use vestibule_rules::RuleSet;

use self::cluster::ClusterRules;
use self::compiler::Compiler;
use self::finding::{Finding, first_texts};
use self::last_good::LastGood;
use self::objects::{ObjectWatches, RuleObjects};
use self::reloader::Reloader;
use self::snapshot::{Snapshot, SnapshotState};
use crate::events::Events;
use crate::lagging_pods::LaggingPods;
use crate::outcome_metrics::OutcomeMetrics;
use crate::registration::{BEST_EFFORT, REQUIRED};
use crate::rule_files::{LoadError, read};
use crate::status::{Registered, StatusWriter};

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
    /// The namespace whose ConfigMaps hold the rules.
    config_maps: Option<String>,
    /// [`None`] for rules in files, and for rules that are only printed, without a cluster.
    pub(crate) watched: Option<WatchedSources>,
    /// [`None`] for rules that never change.
    pub(crate) reloader: Option<Arc<Reloader>>,
    /// The webhook entries for the rules in force. They are set after the snapshot that they belong to.
    pub(crate) entries: Entries,
    /// The hash of the rules for which the entries were set last.
    entries_hash: Arc<watch::Sender<String>>,
    /// The outcomes of the rules, which are in metrics and in the status of objects.
    pub(crate) outcomes: OutcomeMetrics,
    /// The running pods with other versions of rules.
    pub(crate) lagging: LaggingPods,
    _tasks: Vec<Arc<JoinSet<()>>>,
}

/// The watches of what holds the rules in a cluster.
#[derive(Clone)]
pub(crate) struct WatchedSources {
    pub(crate) client: Client,
    /// The state of the watch of ConfigMaps.
    pub(crate) state: WatchState,
    /// The states of the watches of objects with rules or settings.
    pub(crate) objects: ObjectWatches,
    /// Whether rules of namespaces were read once, if the settings switch them on.
    has_read_namespaced: Arc<AtomicBool>,
}

impl Configuration {
    /// Rules that never change.
    pub fn fixed(rules: RuleSet) -> Self {
        Self::unchanging(rules, None)
    }

    /// Rules as if they came from ConfigMaps of `namespace`, without a cluster: for manifests of an injector that reads them
    /// there.
    pub fn installed(rules: RuleSet, namespace: &str) -> Self {
        Self::unchanging(rules, Some(namespace))
    }

    /// The rules of files and folders, which are in force together, and are read again when their content changes. Objects in
    /// `own_namespace` are left alone unless the InjectorSettings say otherwise. Needs a Tokio runtime.
    ///
    /// # Errors
    /// A file cannot be read, or documents are wrong: the error lists all findings.
    pub fn from_paths(paths: &[PathBuf], own_namespace: Option<&str>) -> Result<Self, LoadError> {
        let found = read(paths)?;
        let (reloader, mut snapshots) = Reloader::new(Compiler::new(own_namespace), "the first rules");
        reloader.reload(found);
        let first = Arc::clone(&snapshots.borrow_and_update());
        if first.state() == SnapshotState::Waiting {
            return Err(LoadError::of(first.findings()));
        }
        if first.rules().is_empty() {
            return Err(LoadError::Empty(paths.first().cloned().unwrap_or_default()));
        }
        let following = folder::follow(paths.to_vec(), Arc::clone(&reloader));
        Ok(Self::following(following, snapshots, reloader))
    }

    /// The rules of a cluster, followed by watches: the ConfigMaps in `namespace`, the injector's own, that are labelled
    /// [`CONFIG_LABEL`]`=true`, and the objects of the kinds `Injection` and `InjectorSettings`. The last good documents are
    /// stored in the ConfigMap `injector-last-good`, for a restart while a document is broken. Needs a Tokio runtime.
    pub fn from_cluster(client: Client, namespace: &str) -> Self {
        let compiler = Compiler::new(Some(namespace));
        let (reloader, snapshots) = Reloader::new(compiler, "the rules of the cluster are being read");
        let (observed, objects) = watch::channel(None);
        let config_maps = Watched::start(&client, config_maps::watch(namespace));
        let state = config_maps.state();
        let rule_objects = RuleObjects::new(client.clone());
        let watches = rule_objects.watches.clone();
        let has_read_namespaced = Arc::<AtomicBool>::default();
        let rules = ClusterRules {
            namespace: namespace.to_owned(),
            config_maps,
            objects: rule_objects,
            last_good: LastGood::new(client.clone(), namespace),
            events: Events::new(client.clone()),
            observed,
            has_read_namespaced: Arc::clone(&has_read_namespaced),
        };
        let following = cluster::follow(rules, Arc::clone(&reloader));
        let new = Self::following(following, snapshots, Arc::clone(&reloader));
        let writer = StatusWriter {
            client: client.clone(),
            namespace: namespace.to_owned(),
            reloader,
            entries: new.entries.clone(),
            outcomes: new.outcomes.clone(),
            lagging: new.lagging.clone(),
            objects,
            entries_hash: new.entries_hash.subscribe(),
            registered: Registered::default(),
        };
        Self {
            config_maps: Some(namespace.to_owned()),
            watched: Some(WatchedSources { client, state, objects: watches, has_read_namespaced }),
            ..new.with_task(writer.run())
        }
    }

    /// The same configuration, where one replica counts the running pods with other versions of rules in each interval `every`, for a
    /// metric and the status of rules. It needs the right to list pods, which [`app`](crate::app()) then names.
    #[must_use]
    pub fn counting_lagging_pods(self, every: Duration) -> Self {
        self.lagging.switch_on();
        match self.watched.as_ref().map(|watched| watched.client.clone()) {
            Some(client) => {
                let counting = self.lagging.clone().run(client, every);
                self.with_task(counting)
            }
            None => self,
        }
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

    /// Whether rules are in force, those of namespaces included if the settings switch them on.
    ///
    /// # Errors
    /// No good rules have been read yet: what is missing, or wrong.
    pub fn ready(&self) -> Result<(), String> {
        const MAX_FINDINGS: usize = 5;
        let snapshot = self.snapshots.borrow();
        if snapshot.state() != SnapshotState::Waiting {
            let is_read = |watched: &WatchedSources| watched.has_read_namespaced.load(Ordering::Relaxed);
            return match self.watched.as_ref().is_none_or(is_read) {
                true => Ok(()),
                false => Err("the NamespacedInjections of the cluster are not read yet; the log tells if the injector lacks a right".to_owned()),
            };
        }
        let text = |finding: &Finding| match finding {
            Finding::RuleSet(problem) => problem.clone(),
            other => other.headline(),
        };
        Err(first_texts(snapshot.findings().iter().map(text), MAX_FINDINGS))
    }

    /// The namespace whose ConfigMaps hold the rules, if they come from ConfigMaps.
    pub fn config_maps(&self) -> Option<&str> {
        self.config_maps.as_deref()
    }

    /// Sets whether rules may read labels of namespaces.
    pub(crate) fn set_knows_namespaces(&self, known: bool) {
        if let Some(reloader) = &self.reloader {
            reloader.compiler.knows_namespaces.store(known, Ordering::Relaxed);
        }
    }

    fn unchanging(rules: RuleSet, config_maps: Option<&str>) -> Self {
        let (_, snapshots) = watch::channel(Arc::new(Snapshot::new(rules)));
        let config_maps = config_maps.map(str::to_owned);
        Self { config_maps, ..Self::new(snapshots) }
    }

    fn following(
        sources: impl Future<Output = ()> + Send + 'static,
        snapshots: watch::Receiver<Arc<Snapshot>>,
        reloader: Arc<Reloader>,
    ) -> Self {
        let new = Self::new(snapshots);
        let registering = published_entries::follow(
            new.snapshots.clone(),
            new.entries.clone(),
            Arc::clone(&new.entries_hash),
        );
        Self { reloader: Some(reloader), ..new }.with_task(sources).with_task(registering)
    }

    /// Runs `task` until the last clone is dropped.
    fn with_task(mut self, task: impl Future<Output = ()> + Send + 'static) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(task);
        self._tasks.push(Arc::new(tasks));
        self
    }

    fn new(snapshots: watch::Receiver<Arc<Snapshot>>) -> Self {
        let entries = Entries::of([REQUIRED, BEST_EFFORT]);
        published_entries::publish(&snapshots.borrow(), &entries);
        let entries_hash = Arc::new(watch::Sender::new(snapshots.borrow().hash()));
        let outcomes = OutcomeMetrics::default();
        let (lagging, _tasks) = (LaggingPods::default(), Vec::new());
        let (config_maps, watched, reloader) = (None, None, None);
        Self { snapshots, config_maps, watched, reloader, entries, entries_hash, outcomes, lagging, _tasks }
    }
}

impl From<RuleSet> for Configuration {
    fn from(rules: RuleSet) -> Self {
        Self::fixed(rules)
    }
}
