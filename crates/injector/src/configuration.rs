//! The rules that are in force, whoever brings them.

mod compiler;
mod config_maps;
mod finding;
mod folder;
mod keeper;
mod last_good;
mod metrics;
mod patience;
mod settle;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use vestibule::{Entries, WatchState};
pub use vestibule_rules::CONFIG_LABEL;
use vestibule_rules::RuleSet;

pub use finding::Finding;
pub use snapshot::{Snapshot, State};

use crate::events::Events;
use crate::judge::Judge;
use crate::sources::read;
use crate::{LoadError, registration};
pub(crate) use compiler::Compiler;
pub(crate) use config_maps::{prefix, sources};
pub(crate) use keeper::{Judgement, Keeper};
pub(crate) use last_good::LastGood;
pub(crate) use patience::Patience;
pub(crate) use settle::{Compile, Document, Settled, Source, settle};

/// The ConfigMap of what was good last; without the label of those with rules.
pub(crate) const LAST_GOOD: &str = "injector-last-good";

/// The rules that are in force now: one [`Snapshot`] after another, each whole and never changed.
///
/// Where texts change, a document that is broken keeps its own last good version, and the others advance. Documents that
/// contradict each other change nothing at all. What is gone is gone at once.
///
/// Cheap to clone; clones see the same snapshots, and the last one ends what follows the texts.
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
    origin: Origin,
    knows_namespaces: Arc<AtomicBool>,
    /// What the API server is told of the rules in force.
    entries: Entries,
    _following: Option<Arc<Following>>,
}

/// Who brings the rules.
#[derive(Clone)]
enum Origin {
    Fixed,
    Path,
    ConfigMaps {
        namespace: String,
        keeper: Option<Arc<Keeper<Compiler>>>,
        cluster: Option<(Client, WatchState)>,
    },
}

/// A task that ends with whoever needs it.
struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Configuration {
    /// Rules that stay as they are.
    pub fn fixed(rules: RuleSet) -> Self {
        Self::unfollowed(rules, Origin::Fixed)
    }

    /// Rules as they would be in ConfigMaps of `namespace`, and no cluster: for what is printed about an injector that
    /// reads them there.
    pub fn installed(rules: RuleSet, namespace: &str) -> Self {
        let origin = Origin::ConfigMaps { namespace: namespace.to_owned(), keeper: None, cluster: None };
        Self::unfollowed(rules, origin)
    }

    /// The rules of a file or folder, followed by content. Objects in `own_namespace` are left alone unless the rules'
    /// settings say otherwise. Needs a Tokio runtime.
    ///
    /// # Errors
    /// Files that cannot be read; everything that is wrong with any of the documents.
    pub fn from_path(path: &Path, own_namespace: Option<&str>) -> Result<Self, LoadError> {
        Self::from_paths(&[path.to_owned()], own_namespace)
    }

    /// The same of several files and folders, whose rules are in force together.
    ///
    /// # Errors
    /// As `from_path`.
    pub fn from_paths(paths: &[PathBuf], own_namespace: Option<&str>) -> Result<Self, LoadError> {
        let found = read(paths)?;
        let knows_namespaces = Arc::new(AtomicBool::new(true));
        let compiler = Compiler::new(own_namespace, &knows_namespaces);
        let (keeper, mut snapshots) = Keeper::new(compiler, "the first rules");
        keeper.advance(found);
        let first = Arc::clone(&snapshots.borrow_and_update());
        if first.state() == State::Waiting {
            return Err(LoadError::of(first.findings()));
        }
        if first.rules().rules().is_empty() {
            return Err(LoadError::Empty(paths.first().cloned().unwrap_or_default()));
        }
        let following = folder::follow(paths.to_vec(), keeper);
        Ok(Self::following(following, snapshots, Origin::Path, knows_namespaces))
    }

    /// The rules of the ConfigMaps in `namespace`, the injector's own, that are labelled [`CONFIG_LABEL`]`=true`, followed
    /// by a watch. What was good last is kept in the ConfigMap `injector-last-good`, for a restart while something is
    /// wrong. Needs a Tokio runtime.
    pub fn from_config_maps(client: Client, namespace: &str) -> Self {
        let knows_namespaces = Arc::new(AtomicBool::new(true));
        let compiler = Compiler::new(Some(namespace), &knows_namespaces);
        let (keeper, snapshots) = Keeper::new(compiler, "the ConfigMaps with rules are being read");
        let config_maps = Api::namespaced(client.clone(), namespace);
        let last_good = LastGood { config_maps, name: LAST_GOOD.to_owned() };
        let events = Events::to(client.clone());
        let (listened_to, state) = WatchState::listening(&client);
        let watched = (Api::namespaced(listened_to, namespace), state.clone());
        let following =
            config_maps::follow(watched, namespace.to_owned(), last_good, Arc::clone(&keeper), events);
        let origin = Origin::ConfigMaps {
            namespace: namespace.to_owned(),
            keeper: Some(keeper),
            cluster: Some((client, state)),
        };
        Self::following(following, snapshots, origin, knows_namespaces)
    }

    /// What is in force now. Whoever decides reads it once and decides by that alone.
    pub fn current(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// The next snapshot that this clone has not seen; waits forever where there will be none.
    pub async fn changed(&mut self) -> Arc<Snapshot> {
        match self.snapshots.changed().await {
            Ok(()) => Arc::clone(&self.snapshots.borrow_and_update()),
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether there is something to decide by.
    ///
    /// # Errors
    /// Nothing good has been read yet; what is missing, or wrong.
    pub fn ready(&self) -> Result<(), String> {
        const MOST: usize = 5;
        let snapshot = self.snapshots.borrow();
        if snapshot.state() != State::Waiting {
            return Ok(());
        }
        let words = |finding: &Finding| match finding {
            Finding::Whole(problem) => problem.clone(),
            other => other.headline(),
        };
        let mut words: Vec<_> = snapshot.findings().iter().take(MOST).map(words).collect();
        let more = snapshot.findings().len().saturating_sub(MOST);
        words.extend((more > 0).then(|| format!("and {more} more")));
        Err(words.join("; "))
    }

    /// The namespace whose ConfigMaps the rules come from, if they do.
    pub fn config_maps(&self) -> Option<&str> {
        match &self.origin {
            Origin::ConfigMaps { namespace, .. } => Some(namespace),
            Origin::Fixed | Origin::Path => None,
        }
    }

    /// The way to the cluster whose ConfigMaps these are.
    pub(crate) fn client(&self) -> Option<Client> {
        match &self.origin {
            Origin::ConfigMaps { cluster, .. } => cluster.as_ref().map(|(client, _)| client.clone()),
            Origin::Fixed | Origin::Path => None,
        }
    }

    /// How their watch fares, if there is one.
    pub(crate) fn watch(&self) -> Option<WatchState> {
        match &self.origin {
            Origin::ConfigMaps { cluster, .. } => cluster.as_ref().map(|(_, state)| state.clone()),
            Origin::Fixed | Origin::Path => None,
        }
    }

    /// What judges ConfigMaps with rules, where rules come from those.
    pub(crate) fn judge(&self) -> Option<Judge> {
        match &self.origin {
            Origin::ConfigMaps { namespace, keeper, .. } => {
                Some(Judge { namespace: namespace.clone(), keeper: keeper.clone() })
            }
            Origin::Fixed | Origin::Path => None,
        }
    }

    /// From now on, whether rules may ask for labels of namespaces.
    pub(crate) fn set_knows_namespaces(&self, known: bool) {
        self.knows_namespaces.store(known, Ordering::Relaxed);
    }

    /// What the API server is told of the rules in force; set after the snapshot that they are of.
    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    fn unfollowed(rules: RuleSet, origin: Origin) -> Self {
        let snapshot = Arc::new(Snapshot::new(rules));
        let entries = registration::of_hooks();
        registration::announce(&snapshot, &entries);
        let (_, snapshots) = watch::channel(snapshot);
        Self { snapshots, origin, knows_namespaces: Arc::default(), entries, _following: None }
    }

    fn following(
        sources: impl Future<Output = ()> + Send + 'static,
        snapshots: watch::Receiver<Arc<Snapshot>>,
        origin: Origin,
        knows_namespaces: Arc<AtomicBool>,
    ) -> Self {
        let entries = registration::of_hooks();
        registration::announce(&snapshots.borrow(), &entries);
        let registering = registration::follow(snapshots.clone(), entries.clone());
        let tasks = tokio::spawn(async move { tokio::join!(sources, registering) });
        let following = Some(Arc::new(Following(tasks.abort_handle())));
        Self { snapshots, origin, knows_namespaces, entries, _following: following }
    }
}

impl From<RuleSet> for Configuration {
    fn from(rules: RuleSet) -> Self {
        Self::fixed(rules)
    }
}
