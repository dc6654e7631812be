//! Generates the table of list keys from the API server's OpenAPI documents, as Rust.

mod openapi;
mod rust;
mod types;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::{controlplane, files};
use openapi::Documents;
use types::Types;

const TABLE: &str = "crates/admission/src/keys/table.rs";

/// Writes the table again, from the documents in `folder` or else those of the real API server.
pub(crate) fn write(folder: Option<&Path>) -> anyhow::Result<()> {
    let table = Table::generate(folder)?;
    files::write(&table.path, &table.text)?;
    println!("keys: {TABLE} written");
    Ok(())
}

/// Fails when the table differs from the documents.
pub(crate) fn compare(folder: Option<&Path>) -> anyhow::Result<()> {
    let table = Table::generate(folder)?;
    if files::read(&table.path)? != table.text {
        bail!(
            "{TABLE} differs from the API server's documents: `cargo xtask keys` writes it again, `git diff` shows what changed"
        );
    }
    println!("keys: {TABLE} agrees with the API server's documents");
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
            None => Documents::read(&read_from_the_server(&metadata.target_directory)?)?,
        };
        let text = rust::render(&documents.version, &Types::reachable(&documents)?);
        Ok(Self { path: metadata.workspace_root.join(TABLE), text })
    }
}

fn read_from_the_server(target: &Path) -> anyhow::Result<PathBuf> {
    let folder = target.join("openapi");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    controlplane::openapi(&folder)?;
    Ok(folder)
}
