//! The folder that keeps what was built, named after everything that decides the outcome.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::build;
use crate::Error;
use crate::report::say;

/// The folder that holds the programs; builds them into it when it is not there yet.
pub(super) fn folder() -> Result<PathBuf, Error> {
    let cache = root()?;
    let Some(go) = build::go_version() else {
        return without_go(&cache);
    };
    let folder = cache.join(format!("{}{go}", source_prefix()));
    if complete(&folder) {
        return Ok(folder);
    }
    fs::create_dir_all(&cache).map_err(|source| Error::file("create", &cache, source))?;
    let _only_builder = lock(&cache.join("controlplane.lock"))?;
    sweep(&cache);
    if !complete(&folder) {
        build::into(&cache, &folder)?;
    }
    Ok(folder)
}

/// Programs in the cache serve a machine without `go` too, whichever `go` made them.
fn without_go(cache: &Path) -> Result<PathBuf, Error> {
    let prefix = source_prefix();
    let cached = fs::read_dir(cache).into_iter().flatten().flatten();
    cached
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .find(|folder| complete(folder))
        .ok_or_else(|| Error::Unavailable {
            reason: format!(
                "KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver, {} holds none, \
                 and there is no `go` in PATH to build them",
                cache.display()
            ),
        })
}

fn complete(folder: &Path) -> bool {
    build::PROGRAMS.iter().all(|program| folder.join(program).is_file())
}

/// Waits until no other process builds; the lock goes with the file.
fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(|source| Error::file("create", path, source))?;
    if file.try_lock().is_err() {
        say("another process builds the control plane, waiting for it");
        file.lock().map_err(|source| Error::file("lock", path, source))?;
    }
    Ok(file)
}

/// Removes what builds left that were killed; nobody else builds now.
fn sweep(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(build::WORKSHOP) {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn root() -> Result<PathBuf, Error> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("VESTIBULE_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("vestibule")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/vestibule")))
        .ok_or_else(|| Error::Unavailable {
            reason: "no place for a cache: set VESTIBULE_CACHE, XDG_CACHE_HOME or HOME".to_owned(),
        })
}

fn source_prefix() -> String {
    let hash = build::SOURCES
        .iter()
        .flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()])
        .flatten()
        .fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    format!("controlplane-{hash:016x}-")
}

// FNV-1a: the name must stay the same from one toolchain to the next, which std's hasher does not promise.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_build_left_is_removed_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        for folder in ["build-x/product", "controlplane-0-go1"] {
            fs::create_dir_all(cache.path().join(folder)).unwrap();
        }
        sweep(cache.path());
        let left: Vec<_> =
            fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["controlplane-0-go1"]);
    }
}
