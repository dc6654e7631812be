//! The rules that are in force, whoever brings them.

mod snapshot;

use std::sync::Arc;

use tokio::sync::watch;
use vestibule_rules::RuleSet;

pub use snapshot::Snapshot;

/// The rules that are in force now: one [`Snapshot`] after another, each whole and never changed.
///
/// Cheap to clone; clones see the same snapshots.
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
}

impl Configuration {
    /// Rules that stay as they are.
    pub fn fixed(rules: RuleSet) -> Self {
        let (_, snapshots) = watch::channel(Arc::new(Snapshot::new(rules)));
        Self { snapshots }
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
}

impl From<RuleSet> for Configuration {
    fn from(rules: RuleSet) -> Self {
        Self::fixed(rules)
    }
}
