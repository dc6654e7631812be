//! Files that flags name.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

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
