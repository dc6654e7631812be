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
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        Ok(Self {
            etcd: find("etcd", assets.as_deref())?,
            kube_apiserver: find("kube-apiserver", assets.as_deref())?,
        })
    }
}

fn find(program: &str, assets: Option<&Path>) -> Result<PathBuf, Error> {
    match assets.map(|folder| folder.join(program)) {
        Some(path) if path.is_file() => Ok(path),
        _ => Ok(cache::folder()?.join(program)),
    }
}
