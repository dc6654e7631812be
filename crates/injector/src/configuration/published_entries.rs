//! Publishes the entries for the rules in force.

use std::sync::Arc;

use tokio::sync::watch;
use vestibule::tooling::Entries;

use super::snapshot::{Snapshot, SnapshotState};
use crate::registration::entries;

/// Sets the entries for the rules of a snapshot. They stay as they are while there are no rules yet. Rules that cannot be
/// registered are skipped without an error: `manifests` and the reload refuse them before.
pub(super) fn publish(snapshot: &Snapshot, to: &Entries) {
    if snapshot.state() == SnapshotState::Waiting {
        return;
    }
    if let Ok(entries) = entries(snapshot.rules())
        && let Err(error) = to.set(entries)
    {
        tracing::error!(%error, "the entries of the former rules stay registered");
    }
}

/// Sets the entries for every snapshot after it is in force, so that a hook knows the rules that it is called for, and sends the hash
/// of these rules.
pub(super) async fn follow(
    mut snapshots: watch::Receiver<Arc<Snapshot>>,
    to: Entries,
    hash: Arc<watch::Sender<String>>,
) {
    while snapshots.changed().await.is_ok() {
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        publish(&snapshot, &to);
        hash.send_replace(snapshot.hash());
    }
}
