//! The cache of built programs. A folder is named after the sources and the version of `go`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::build;
use super::module::Module;
use crate::error::Error;
use crate::report::print_line;

/// The folder with the programs of `module`; builds them first when it is missing or incomplete.
pub(super) fn folder(module: &Module) -> Result<PathBuf, Error> {
    let cache = root()?;
    let Some(go) = build::go_version() else {
        return without_go(&cache, module);
    };
    let folder = cache.join(format!("{}{go}", module.folder_prefix()));
    if is_complete(&folder, module) {
        return Ok(folder);
    }
    fs::create_dir_all(&cache).map_err(|source| Error::file("create", &cache, source))?;
    let _build_lock = lock(&cache.join(format!("{}.lock", module.name)), module)?;
    remove_abandoned_builds(&cache, module);
    if !is_complete(&folder, module) {
        build::into(&cache, &folder, module)?;
    }
    Ok(folder)
}

/// A machine without `go` uses programs in the cache that any version of `go` built.
fn without_go(cache: &Path, module: &Module) -> Result<PathBuf, Error> {
    let prefix = module.folder_prefix();
    let cached = fs::read_dir(cache).into_iter().flatten().flatten();
    cached
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .find(|folder| is_complete(folder, module))
        .ok_or_else(|| Error::Unavailable {
            reason: format!(
                "{} holds no {}, and there is no `go` in PATH to build them{}",
                cache.display(),
                module.description,
                module.alternative
            ),
        })
}

fn is_complete(folder: &Path, module: &Module) -> bool {
    module.all_programs().all(|program| folder.join(program).is_file())
}

/// Waits until no other process builds. The lock is released when the returned file is dropped.
fn lock(path: &Path, module: &Module) -> Result<File, Error> {
    let file = File::create(path).map_err(|source| Error::file("create", path, source))?;
    if file.try_lock().is_err() {
        print_line(&format!("another process builds {}, waiting for it", module.description));
        file.lock().map_err(|source| Error::file("lock", path, source))?;
    }
    Ok(file)
}

/// Removes the folders of killed builds. The caller holds the lock, so no other process builds now.
fn remove_abandoned_builds(cache: &Path, module: &Module) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&module.build_prefix()) {
            // A folder that cannot be removed does no harm.
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

#[cfg(test)]
mod tests {
    use super::super::module::{CONTROLPLANE, TOOLS};
    use super::*;

    #[test]
    fn only_the_folders_of_killed_builds_of_the_same_module_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for folder in ["build-controlplane-x/output", "build-tools-x", "controlplane-0-go1"] {
            fs::create_dir_all(cache.path().join(folder)).unwrap();
        }
        remove_abandoned_builds(cache.path(), &CONTROLPLANE);
        let left = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["build-tools-x", "controlplane-0-go1"], "another module may be building");
    }

    #[test]
    fn a_folder_is_complete_when_it_has_every_program() {
        let folder = tempfile::tempdir().unwrap();
        for program in TOOLS.all_programs() {
            assert!(!is_complete(folder.path(), &TOOLS), "without {program}");
            fs::write(folder.path().join(program), "").unwrap();
        }
        assert!(is_complete(folder.path(), &TOOLS));
    }
}
