//! Reads the files.

use std::fs::File;
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
    key_file::read(File::open(path)?)
}
