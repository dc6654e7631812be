//! `cargo xtask api`: the public API of every published library, one item a line, in `docs/public-api`.
//!
//! The listing is committed, so that a review sees each change of the API as a diff. rustdoc describes the libraries as JSON, and
//! cargo-public-api, which is installed on demand into the cache, prints the items of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::metadata::Metadata;
use crate::{cargo, files};

/// The version that reads the JSON of Rust 1.95.
const TOOL: &str = "0.52.0";
const FOLDER: &str = "docs/public-api";

/// Writes the listings, or fails when one with `check` differs from the sources.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let metadata = Metadata::of_workspace()?;
    let tool = cargo::tool("cargo-public-api", TOOL, &[])?;
    let libraries = libraries(&metadata);
    let json = describe(&metadata, &libraries)?;
    let folder = metadata.workspace_root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut changes = stale(&folder, &libraries)?;
    for library in &libraries {
        let listing = list(&tool, &json.join(format!("{}.json", library.replace('-', "_"))))?;
        let file = folder.join(format!("{library}.txt"));
        if check {
            let present = fs::read_to_string(&file).unwrap_or_default();
            changes.extend(differences(&present, &listing));
        } else {
            files::write(&file, listing)?;
        }
    }
    if !changes.is_empty() {
        bail!(
            "the public API differs from {FOLDER}; `cargo xtask api` writes its listings again:\n{}",
            changes.join("\n")
        );
    }
    let done = if check { "agrees with the sources" } else { "written" };
    println!("public API of {} libraries: {FOLDER} {done}", libraries.len());
    Ok(())
}

/// A line for each listing of a library that is gone.
fn stale(folder: &Path, libraries: &[String]) -> anyhow::Result<Vec<String>> {
    let is_present = |path: &PathBuf| libraries.iter().any(|name| path.file_stem() == Some(name.as_ref()));
    let stale = files::list(folder)?.into_iter().filter(|path| !is_present(path));
    Ok(stale.map(|path| format!("{} is of no published library: delete it", path.display())).collect())
}

/// The published packages with a library.
fn libraries(metadata: &Metadata) -> Vec<String> {
    let has_library = |folder: &Path| metadata.workspace_root.join(folder).join("src/lib.rs").is_file();
    let published = metadata.packages.iter().filter(|package| package.is_published());
    published
        .filter(|package| has_library(&package.folder(&metadata.workspace_root)))
        .map(|package| package.name.clone())
        .collect()
}

/// The folder of rustdoc's descriptions. They are made in a folder of their own: with unstable options, other builds would start again.
fn describe(metadata: &Metadata, libraries: &[String]) -> anyhow::Result<PathBuf> {
    let target = metadata.target_directory.join("public-api");
    let mut command = cargo::command(&["doc", "--quiet", "--no-deps", "--target-dir"]);
    // The binary chooses the version of Kubernetes that the libraries leave to their user.
    command.arg(&target).args(["--package", "vestibule-cli", "--features", "vestibule-cli/otel"]);
    for library in libraries {
        command.args(["--package", library]);
    }
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    cargo::finish(&mut command)?;
    Ok(target.join("doc"))
}

/// The items of a description, without those that derives and blanket implementations add.
fn list(tool: &Path, json: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(tool);
    cargo::output(command.args(["-sss", "--color=never", "--rustdoc-json"]).arg(json))
}

/// Each line that only one of the listings has, as in a diff.
fn differences(before: &str, after: &str) -> Vec<String> {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (before.lines().collect(), after.lines().collect());
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_item_is_shown_before_and_after() {
        let changes = differences("pub fn a()\npub fn b()\n", "pub fn b()\npub fn a(u8)\n");
        assert_eq!(changes, ["- pub fn a()", "+ pub fn a(u8)"]);
    }

    #[test]
    fn every_published_library_has_a_listing() {
        let metadata = Metadata::of_workspace().unwrap();
        let libraries = libraries(&metadata);
        assert!(libraries.len() > 10, "{libraries:?}");
        for library in libraries {
            let file = metadata.workspace_root.join(FOLDER).join(format!("{library}.txt"));
            let text = fs::read_to_string(&file).unwrap_or_default();
            assert!(text.starts_with("pub mod "), "{}", file.display());
        }
    }
}
