//! Finds or builds etcd, kube-apiserver, kubectl, helm and a part of the kubelet.

mod build;
mod cache;
mod module;

use std::path::{Path, PathBuf};

use self::module::{CONTROLPLANE, TOOLS};
use crate::error::Error;

/// The programs of a control plane.
///
/// Each program is looked up by itself: in the folder named by `KUBEBUILDER_ASSETS`, then in
/// the cache. If it is in neither, it is built with `go` into the cache, once for all processes.
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
    /// [`Error::Unavailable`] when the programs are neither in the folder nor in the cache and cannot be built.
    pub fn find() -> Result<Self, Error> {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty());
        let assets = assets.map(PathBuf::from);
        let find = |program| find(program, assets.as_deref());
        Ok(Self { etcd: find("etcd")?, kube_apiserver: find("kube-apiserver")? })
    }

    /// The program `kube-controller-manager`, which is searched for only on demand: few tests need it, and most assets
    /// folders lack it.
    ///
    /// Blocks the thread.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the program is neither in the folder nor in the cache and cannot be built.
    pub fn kube_controller_manager(&self) -> Result<PathBuf, Error> {
        let beside = self.kube_apiserver.with_file_name("kube-controller-manager");
        if beside.is_file() { Ok(beside) } else { find("kube-controller-manager", None) }
    }
}

fn find(program: &str, assets: Option<&Path>) -> Result<PathBuf, Error> {
    match assets.map(|folder| folder.join(program)) {
        // Absolute, because it is started from another folder.
        Some(path) if path.is_file() => {
            std::path::absolute(&path).map_err(|source| Error::file("find", &path, source))
        }
        _ => Ok(cache::folder(&CONTROLPLANE)?.join(program)),
    }
}

/// kubectl, helm and a part of the kubelet, built from the released sources.
///
/// They come from the cache, or are built with `go` into it. Programs in `PATH` are not used, because their version is
/// unknown. [`Environment::command`](crate::Environment::command) runs them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tools {
    /// `kubectl`, of the version of the API server.
    pub kubectl: PathBuf,
    /// `kubelet`, of which it has what `kubectl port-forward` and `kubectl logs` reach: `kubelet -log FILE PORT=ADDRESS...`
    /// prints `port N`, the port of 127.0.0.1 on which it serves. A port of any pod leads to its `ADDRESS`, and the file is the
    /// log of any container.
    pub kubelet: PathBuf,
    /// `helm`, version 3.
    pub helm3: PathBuf,
    /// `helm`, version 4, which uses server-side apply.
    pub helm4: PathBuf,
}

impl Tools {
    /// Finds the programs, or builds them: a few minutes, with progress on standard error.
    ///
    /// Blocks the thread.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the programs are not in the cache and cannot be built.
    pub fn find() -> Result<Self, Error> {
        let folder = cache::folder(&TOOLS)?;
        let program = |name| folder.join(name);
        Ok(Self {
            kubectl: program("kubectl"),
            kubelet: program("kubelet"),
            helm3: program("helm3"),
            helm4: program("helm4"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assets_folder_comes_first() {
        let assets = tempfile::tempdir().unwrap();
        let etcd = assets.path().join("etcd");
        std::fs::write(&etcd, "").unwrap();
        assert_eq!(find("etcd", Some(assets.path())).unwrap(), etcd);
    }
}
