//! Reads the files.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use zeroize::Zeroizing;

use super::MountedFiles;
use crate::key_file;

/// The contents of the files at about one moment; not necessarily of one generation. No `Debug`: it holds a key,
/// and all three fields do when one file has everything.
#[derive(Clone, PartialEq)]
pub(super) struct Content {
    pub(super) certificate: Zeroizing<String>,
    pub(super) key: Zeroizing<String>,
    pub(super) authority: Option<Zeroizing<String>>,
}

impl Content {
    /// The error names the file that cannot be read, with the operating system's reason.
    pub(super) fn read(folder: &Path, files: &MountedFiles) -> Result<Self, String> {
        let failed = |name: &str, error: &io::Error| match error.kind() {
            ErrorKind::NotFound => format!("{name} is missing"),
            _ => format!("{name} cannot be read: {error}"),
        };
        let required = |name: &str| read(&folder.join(name)).map_err(|error| failed(name, &error));
        let certificate = required(&files.certificate)?;
        let key = required(&files.key)?;
        let authority = match read(&folder.join(&files.authority)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&files.authority, &error)),
        };
        Ok(Self { certificate, key, authority })
    }
}

fn read(path: &Path) -> io::Result<Zeroizing<String>> {
    // Opening a pipe would block until a process writes to it.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    key_file::read(File::open(path)?)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// The process waited without end, at its start too, and was never ready.
    #[test]
    fn a_pipe_in_a_mounted_folder_blocks_no_thread() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("tls.crt");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(read(&pipe).map(drop)));
        let error = receiver.recv_timeout(Duration::from_secs(10)).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "it is no file");
    }
}
