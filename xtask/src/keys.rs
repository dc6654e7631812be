//! The table of list keys: read from the API server's own OpenAPI documents, written as Rust.

mod openapi;
mod rust;
mod types;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::controlplane;
use crate::metadata::Metadata;
use openapi::Documents;
use types::Types;

const TABLE: &str = "crates/admission/src/keys/table.rs";

/// Writes the table anew, from the documents in `folder` or else those of the real API server.
pub(crate) fn write(folder: Option<&Path>) -> anyhow::Result<()> {
    let table = Table::generate(folder)?;
    std::fs::write(&table.path, &table.text)
        .with_context(|| format!("cannot write {}", table.path.display()))?;
    println!("keys: {TABLE} written");
    Ok(())
}

/// Fails when the table differs from what the documents say now.
pub(crate) fn compare(folder: Option<&Path>) -> anyhow::Result<()> {
    let table = Table::generate(folder)?;
    let present = std::fs::read_to_string(&table.path).with_context(|| format!("cannot read {TABLE}"))?;
    if present != table.text {
        bail!(
            "{TABLE} is not what the API server says: `cargo xtask keys` writes it anew, `git diff` shows what changed"
        );
    }
    println!("keys: {TABLE} is what the API server says");
    Ok(())
}

struct Table {
    path: PathBuf,
    text: String,
}

impl Table {
    fn generate(folder: Option<&Path>) -> anyhow::Result<Self> {
        let metadata = Metadata::of_workspace()?;
        let documents = match folder {
            Some(folder) => Documents::read(folder)?,
            None => Documents::read(&ask_the_server(&metadata.target_directory)?)?,
        };
        let text = rust::render(&documents.version, &Types::reachable(&documents)?);
        Ok(Self { path: metadata.workspace_root.join(TABLE), text })
    }
}

fn ask_the_server(target: &Path) -> anyhow::Result<PathBuf> {
    let folder = target.join("openapi");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    controlplane::openapi(&folder)?;
    Ok(folder)
}
