//! A file that others keep, by its content.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::ClientError;

/// Between two looks.
const POLL: Duration = Duration::from_secs(1);

/// Far more than any of them holds, in bytes.
const LARGEST: u64 = 4 << 20;

/// A file as it was when it was read last.
pub(super) struct Followed {
    what: &'static str,
    path: PathBuf,
    content: Vec<u8>,
}

impl Followed {
    /// Reads it; `what` says in a few words what it should be.
    pub(super) fn open(what: &'static str, path: &Path) -> Result<Self, ClientError> {
        let path = path.to_owned();
        match read(&path) {
            Ok(content) => Ok(Self { what, path, content }),
            Err(why) => Err(ClientError::File { what, path, why }),
        }
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn unusable(&self, why: String) -> ClientError {
        ClientError::File { what: self.what, path: self.path.clone(), why }
    }

    /// Gives every further content to `take`, for as long as it is polled. What cannot be taken changes nothing, and
    /// people are told.
    pub(super) async fn follow(mut self, mut take: impl FnMut(&[u8]) -> Result<(), String>) {
        let mut trouble = None;
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let seen = match read_aside(self.path.clone()).await {
                Ok(content) if content == self.content => Ok(false),
                Ok(content) => {
                    self.content = content;
                    take(&self.content).map(|()| true)
                }
                Err(why) => Err(why),
            };
            let (what, file) = (self.what, self.path.display());
            match &seen {
                Ok(true) => tracing::info!(%file, "{what} were read again"),
                Err(why) if trouble.as_ref() != Some(why) => {
                    tracing::warn!(%file, why, "{what} cannot be read again; those from before stay");
                }
                _ => {}
            }
            trouble = seen.err();
        }
    }
}

/// A folder on a network may take its time.
async fn read_aside(path: PathBuf) -> Result<Vec<u8>, String> {
    let read = tokio::task::spawn_blocking(move || read(&path)).await;
    read.unwrap_or_else(|_| Err("the look at it was cut short".to_owned()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}
