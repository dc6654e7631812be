//! Files that flags name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use vestibule_command::CommandError;
use vestibule_rules::diagnostic::printable;

/// `path` itself; of a folder, its `*.yaml`, `*.yml` and `*.json`, in the order of their names.
pub(crate) fn yaml(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.metadata()?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let ends = ["yaml", "yml", "json"].map(Some);
    files.retain(|file| ends.contains(&file.extension().and_then(OsStr::to_str)) && file.is_file());
    files.sort();
    Ok(files)
}

/// Whether a path stands for stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// A folder in the folder `path`, of which nothing was read.
pub(crate) fn folder_in(path: &Path) -> Option<PathBuf> {
    let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|entry| entry.is_dir()).min()
}

/// A path in a line for people, whatever somebody called a file. Nothing is opened by it.
pub(crate) fn named(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Why the text `name` cannot be read.
pub(crate) fn unreadable(name: impl fmt::Display, error: &io::Error) -> CommandError {
    let name = printable(&name.to_string());
    CommandError::input(match error.kind() {
        // Older PowerShells write UTF-16 where others write UTF-8.
        io::ErrorKind::InvalidData => format!("{name} is no UTF-8 text: save it as UTF-8"),
        _ => format!("cannot read {name}: {error}"),
    })
}
