//! The parts of `cargo metadata` that the checks read.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::cargo;

/// The workspace, or the whole graph.
#[derive(Default, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    /// `[workspace.metadata]`.
    #[serde(default)]
    pub(crate) metadata: Value,
}

/// One package.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The registry; [`None`] for a package of this checkout.
    pub(crate) source: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) readme: Option<PathBuf>,
    pub(crate) rust_version: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// `[package.metadata]`
    pub(crate) metadata: Value,
    /// The registries that it may go to: none at all with `publish = false`.
    pub(crate) publish: Option<Vec<String>>,
}

/// A library, a program, a test or an example.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
}

/// One dependency as its manifest names it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The versions; `*` if none is named.
    pub(crate) req: String,
    /// `None` for a normal dependency.
    pub(crate) kind: Option<Kind>,
    pub(crate) optional: bool,
    /// The folder of a dependency that lives in this checkout.
    pub(crate) path: Option<PathBuf>,
}

/// Kinds of dependency that need a section of their own in the manifest.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Build,
    Dev,
}

impl Metadata {
    /// Only the members of the workspace.
    pub(crate) fn of_workspace() -> anyhow::Result<Self> {
        Self::read(&cargo::workspace(), &["--no-deps"])
    }

    /// The members and all their dependencies, for all platforms.
    pub(crate) fn of_everything() -> anyhow::Result<Self> {
        Self::read(&cargo::workspace(), &[])
    }

    /// The metadata of the checkout in `folder`, by `cargo metadata` with these `options`.
    pub(crate) fn read(folder: &Path, options: &[&str]) -> anyhow::Result<Self> {
        let mut command = cargo::command(&["metadata", "--format-version=1"]);
        let text = cargo::output(command.args(options).current_dir(folder))?;
        serde_json::from_str(&text).context("cargo metadata printed something unexpected")
    }

    pub(crate) fn package(&self, name: &str) -> anyhow::Result<&Package> {
        let package = self.packages.iter().find(|package| package.name == name);
        package.with_context(|| format!("there is no package {name}"))
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
