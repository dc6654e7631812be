//! Finds the files in a folder that a flag names, for rules and for objects.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use vestibule_rules::diagnostic::printable;

/// The extensions of the files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// `path` itself; of a folder, its `*.yaml`, `*.yml` and `*.json`, in the order of their names. Folders in it are not read.
///
/// # Errors
/// The file or folder cannot be read.
pub fn yaml_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.metadata()?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let extensions = EXTENSIONS.map(Some);
    files.retain(|file| extensions.contains(&file.extension().and_then(OsStr::to_str)) && file.is_file());
    files.sort();
    Ok(files)
}

/// The first folder in the folder `path`, for a message that the folders in it were not read.
pub fn first_subfolder(path: &Path) -> Option<PathBuf> {
    let entries = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|entry| entry.is_dir()).min()
}

/// A path in a line for people; control characters in it are escaped. It cannot be opened by this text.
pub fn printable_path(path: &Path) -> String {
    printable(&path.display().to_string())
}
