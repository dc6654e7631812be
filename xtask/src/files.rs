//! Reads and writes files and folders, with errors that name the path.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cargo;

/// The text of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text of a file of the repository, by its path there.
pub(crate) fn read_here(path: &str) -> anyhow::Result<String> {
    read(&cargo::workspace().join(path))
}

pub(crate) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

/// The files and folders in a folder, sorted.
pub(crate) fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listing = || format!("cannot list {}", folder.display());
    let entries = folder.read_dir().with_context(listing)?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.with_context(listing)?;
    paths.sort();
    Ok(paths)
}

/// All files below a folder, sorted, without those of builds and of hidden folders. Links to folders are not followed.
pub(crate) fn below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in list(folder)? {
        let name = name(&path);
        if path.is_symlink() || !path.is_dir() {
            files.push(path);
        } else if name != "target" && !name.starts_with('.') {
            files.extend(below(&path)?);
        }
    }
    Ok(files)
}

/// The last part of a path.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
