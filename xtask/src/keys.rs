//! Generates the table of list keys from the API server's OpenAPI documents, as Rust.

mod openapi;
mod rust;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::{cargo, controlplane, files};
use openapi::Documents;

const TABLE: &str = "crates/admission/src/keys/table.rs";

/// Writes the table again, from the documents in `folder` or else those of the real API server.
pub(crate) fn write(folder: Option<&Path>) -> anyhow::Result<()> {
    files::write(&cargo::workspace().join(TABLE), table(folder)?)?;
    println!("keys: {TABLE} written");
    Ok(())
}

/// Fails when the table differs from the documents.
pub(crate) fn compare(folder: Option<&Path>) -> anyhow::Result<()> {
    if files::read_here(TABLE)? != table(folder)? {
        bail!(
            "{TABLE} differs from the API server's documents: `cargo xtask keys` writes it again, `git diff` shows what changed"
        );
    }
    println!("keys: {TABLE} agrees with the API server's documents");
    Ok(())
}

fn table(folder: Option<&Path>) -> anyhow::Result<String> {
    let documents = match folder {
        Some(folder) => Documents::read(folder)?,
        None => Documents::read(&read_from_the_server()?)?,
    };
    rust::render(&documents)
}

fn read_from_the_server() -> anyhow::Result<PathBuf> {
    let folder = Metadata::of_workspace()?.target_directory.join("openapi");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    controlplane::openapi(&folder)?;
    Ok(folder)
}
