//! A file that is reloaded when its content changes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::settings::ClientError;

/// The time between two reads.
const POLL: Duration = Duration::from_secs(1);

/// The largest file that is read, in bytes; CA bundles and key sets are far smaller.
const LARGEST: u64 = 4 << 20;

/// A file, with the content in use and that of the last read.
pub(super) struct ReloadedFile {
    what: &'static str,
    path: PathBuf,
    content: Vec<u8>,
    last_read: Vec<u8>,
}

impl ReloadedFile {
    /// Reads the file; `what` names its expected content in errors.
    pub(super) fn open(what: &'static str, path: &Path) -> Result<Self, ClientError> {
        let path = path.to_owned();
        match read(&path) {
            Ok(content) => Ok(Self { what, path, last_read: content.clone(), content }),
            Err(why) => Err(ClientError::File { what, path, why }),
        }
    }

    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }

    pub(super) fn unusable(&self, why: String) -> ClientError {
        ClientError::File { what: self.what, path: self.path.clone(), why }
    }

    /// Gives each new content to `take`, for as long as the future is polled. If `take` refuses it, the old content stays in use, and
    /// a warning is logged.
    pub(super) async fn follow(mut self, mut take: impl FnMut(&[u8]) -> Result<(), String>) {
        let mut last_error = None;
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let read = read_blocking(self.path.clone()).await;
            let outcome = match read.map(|content| self.is_new(content)) {
                Ok(true) => take(&self.content).map(|()| true),
                unchanged => unchanged,
            };
            let (what, file) = (self.what, self.path.display());
            match &outcome {
                Ok(true) => tracing::info!(%file, "{what} were read again"),
                Err(why) if last_error.as_ref() != Some(why) => {
                    tracing::warn!(%file, why, "{what} cannot be read again; those from before stay");
                }
                _ => {}
            }
            last_error = outcome.err();
        }
    }

    /// Whether `content` differs from the one in use, which it then replaces. A file that is written in several steps may be read between
    /// them, so a content is new only if two reads in a row found it.
    fn is_new(&mut self, content: Vec<u8>) -> bool {
        let is_new = content == self.last_read && content != self.content;
        if is_new {
            self.content.clone_from(&content);
        }
        self.last_read = content;
        is_new
    }
}

/// Reads on another thread: a network file system may block.
async fn read_blocking(path: PathBuf) -> Result<Vec<u8>, String> {
    let read = tokio::task::spawn_blocking(move || read(&path)).await;
    read.unwrap_or_else(|_| Err("the read was cancelled".to_owned()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| error.to_string();
    // Opening a pipe would block until a process writes to it.
    if !std::fs::metadata(path).map_err(words)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut content = Vec::new();
    // The file may grow while it is read.
    File::open(path).map_err(words)?.take(LARGEST + 1).read_to_end(&mut content).map_err(words)?;
    if content.len() as u64 > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between two writes, one of two CAs was in use for a second.
    #[test]
    fn a_content_between_two_writes_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        std::fs::write(&path, "a").unwrap();
        let mut file = ReloadedFile::open("the CAs of clients", &path).unwrap();
        let new = ["a", "b", "bc", "bc", "bc", "a", "bc"].map(|content| file.is_new(content.into()));
        assert_eq!(new, [false, false, false, true, false, false, false]);
        assert_eq!(file.content(), b"bc");
    }

    #[test]
    fn no_more_is_read_than_a_file_may_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        let file = File::create(&path).unwrap();
        file.set_len(LARGEST).unwrap();
        assert_eq!(read(&path).map(|content| content.len() as u64), Ok(LARGEST));
        file.set_len(LARGEST + 1).unwrap();
        assert_eq!(read(&path), Err("it is larger than 4194304 bytes".to_owned()));
        // /dev/zero has the length 0 and no end.
        for path in [folder.path(), Path::new("/dev/zero")] {
            assert_eq!(read(path), Err("it is no file".to_owned()), "{}", path.display());
        }
    }
}
