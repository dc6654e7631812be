//! Where etcd and kube-apiserver come from.

mod build;
mod cache;

use std::path::{Path, PathBuf};

use crate::Error;

/// The programs of a control plane.
///
/// Each is looked for by itself: in the folder named by `KUBEBUILDER_ASSETS`, then in
/// the cache, and last it is built with `go` into the cache, once for all processes.
/// The cache is `$VESTIBULE_CACHE`, else `$XDG_CACHE_HOME/vestibule`, else `~/.cache/vestibule`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Binaries {
    /// The program `etcd`.
    pub etcd: PathBuf,
    /// The program `kube-apiserver`.
    pub kube_apiserver: PathBuf,
}

impl Binaries {
    /// Finds the programs, or builds them: several minutes, with progress on standard error.
    ///
    /// Blocks the thread.
    ///
    /// # Errors
    /// [`Error::Unavailable`] says why neither a folder, nor the cache, nor a build gave them.
    pub fn find() -> Result<Self, Error> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty());
        let assets = assets.map(PathBuf::from);
        let find = |program| find(program, assets.as_deref());
        Ok(Self { etcd: find("etcd")?, kube_apiserver: find("kube-apiserver")? })
    }
}

fn find(program: &str, assets: Option<&Path>) -> Result<PathBuf, Error> {
    match assets.map(|folder| folder.join(program)) {
        // It is started from another folder.
        Some(path) if path.is_file() => {
            std::path::absolute(&path).map_err(|source| Error::file("find", &path, source))
        }
        _ => Ok(cache::folder()?.join(program)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_assets_comes_first() {
        let assets = tempfile::tempdir().unwrap();
        let etcd = assets.path().join("etcd");
        std::fs::write(&etcd, "").unwrap();
        assert_eq!(find("etcd", Some(assets.path())).unwrap(), etcd);
    }
}
