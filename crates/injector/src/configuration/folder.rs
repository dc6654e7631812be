//! Rules in files, read again when their content changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::reloader::Reloader;
use super::rule_source::RuleSource;
use crate::rule_files::{self, LoadError};

/// The time between two reads. A change comes into force when two reads find the same, so a file that is being written is
/// left for the next read.
const POLL: Duration = Duration::from_millis(500);

/// Reads the files until it is dropped.
pub(crate) async fn follow(paths: Vec<PathBuf>, reloader: Arc<Reloader>) {
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<Vec<RuleSource>> = None;
    let mut is_logged = false;
    loop {
        ticks.tick().await;
        let (paths, reloader, former) = (paths.clone(), Arc::clone(&reloader), last.take());
        // Reading a folder on a network blocks, and proving rules takes long.
        let read = tokio::task::spawn_blocking(move || {
            let found = rule_files::read(&paths)?;
            if former.as_ref() == Some(&found) {
                reloader.reload(found.clone());
            }
            Ok::<_, LoadError>(found)
        });
        match read.await {
            Ok(Ok(found)) => (last, is_logged) = (Some(found), false),
            Ok(Err(error)) => {
                if !is_logged {
                    tracing::warn!(%error, "the rules cannot be read; the last good ones stay in force");
                }
                is_logged = true;
            }
            Err(_) => tracing::debug!("reading the rules was cut short"),
        }
    }
}
