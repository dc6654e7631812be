//! The parts of `cargo metadata` that the checks read.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use crate::cargo;

/// The workspace, or the whole graph.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

/// One package.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) rust_version: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    /// The registries that it may go to: none at all with `publish = false`.
    pub(crate) publish: Option<Vec<String>>,
}

/// One dependency as its manifest names it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency.
    pub(crate) kind: Option<Kind>,
    pub(crate) optional: bool,
    /// The folder of a dependency that lives in this checkout.
    pub(crate) path: Option<PathBuf>,
}

/// Kinds of dependency that need a section of their own in the manifest.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Build,
    Dev,
}

impl Metadata {
    /// Only the members of the workspace.
    pub(crate) fn of_workspace() -> anyhow::Result<Self> {
        Self::read(&["metadata", "--format-version=1", "--no-deps"])
    }

    /// The members and all their dependencies, for all platforms.
    pub(crate) fn of_everything() -> anyhow::Result<Self> {
        Self::read(&["metadata", "--format-version=1"])
    }

    fn read(arguments: &[&str]) -> anyhow::Result<Self> {
        serde_json::from_str(&cargo::read(arguments)?).context("cargo metadata printed something unexpected")
    }
}

impl Package {
    /// Whether it goes to crates.io.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.is_none()
    }

    /// Its folder below `root`: `crates/patch`.
    pub(crate) fn folder(&self, root: &Path) -> PathBuf {
        let folder = self.manifest_path.parent().unwrap_or(&self.manifest_path);
        folder.strip_prefix(root).unwrap_or(folder).to_owned()
    }
}
