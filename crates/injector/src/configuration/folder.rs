//! Rules in files, followed by what is in them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::compiler::Compiler;
use super::keeper::Keeper;
use super::settle::Source;
use crate::{LoadError, sources};

/// Between two looks. What two looks find is taken: whoever writes is not just at it.
const POLL: Duration = Duration::from_millis(500);

/// Looks again and again until it is dropped.
pub(crate) async fn follow(paths: Vec<PathBuf>, keeper: Arc<Keeper<Compiler>>) {
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<Vec<Source>> = None;
    let mut told = false;
    loop {
        ticks.tick().await;
        let (paths, keeper, former) = (paths.clone(), Arc::clone(&keeper), last.take());
        // A folder on a network may take its time, and so may rules.
        let looked = tokio::task::spawn_blocking(move || {
            let found = sources::read(&paths)?;
            if former.as_ref() == Some(&found) {
                keeper.advance(found.clone());
            }
            Ok::<_, LoadError>(found)
        });
        match looked.await {
            Ok(Ok(found)) => (last, told) = (Some(found), false),
            Ok(Err(error)) => {
                if !told {
                    tracing::warn!(%error, "the rules cannot be read; the last good ones stay in force");
                }
                told = true;
            }
            Err(_) => tracing::debug!("a look at the rules was cut short"),
        }
    }
}
