//! The table of crate boundaries, `workspace.metadata.walls` of the manifest. ARCHITECTURE.md explains the boundaries; the walls
//! check this table.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use crate::metadata::Metadata;

/// One crate of the workspace and its allowed dependencies.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Crate {
    /// The folder below `crates/`, which is also the short name.
    #[serde(skip)]
    pub(super) name: String,
    #[serde(skip)]
    pub(super) package: String,
    /// Crates of the workspace that it may depend on.
    #[serde(default)]
    pub(super) uses: Vec<String>,
    /// Crates of the workspace that only its tests may use.
    #[serde(default)]
    pub(super) tests_with: Vec<String>,
    /// External crates in `[dependencies]` and `[build-dependencies]`.
    #[serde(default)]
    pub(super) external: Vec<String>,
    /// External crates that it may use as optional dependencies only.
    #[serde(default)]
    pub(super) external_behind_a_feature: Vec<String>,
    /// External crates, or groups of them, that it must not depend on, also not through other crates.
    #[serde(default)]
    pub(super) never_reaches: Vec<String>,
    /// The reason of the boundary: ends the sentence "This boundary exists because ...".
    pub(super) because: String,
}

const GROUPS: [(&str, &[&str]); 3] = [
    ("serving", &["tokio", "hyper", "hyper-util", "rustls", "tokio-rustls"]),
    ("client", &["kube", "kube-client", "kube-core", "kube-runtime"]),
    ("types", &["k8s-openapi"]),
];

/// All crates.
pub(super) fn table(workspace: &Metadata) -> anyhow::Result<Vec<Crate>> {
    let rows: BTreeMap<String, Crate> = serde_json::from_value(workspace.metadata["walls"].clone())
        .context("the table of crate boundaries cannot be read")?;
    let named = |(name, row): (String, Crate)| {
        let package = if name == "vestibule" { name.clone() } else { format!("vestibule-{name}") };
        Crate { name, package, ..row }
    };
    Ok(rows.into_iter().map(named).collect())
}

impl Crate {
    /// The external crates that it must not depend on.
    pub(super) fn unreachable(&self) -> impl Iterator<Item = &str> {
        self.never_reaches.iter().flat_map(|name| {
            let group = GROUPS.iter().find(|(group, _)| group == name).map(|(_, crates)| *crates);
            group.map_or_else(|| vec![name.as_str()], <[_]>::to_vec)
        })
    }
}
