//! Checks that no source file is longer than 500 lines.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::metadata::Metadata;

const MOST_LINES: usize = 500;

/// Counts the lines of every Rust file of the checkout.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = Metadata::of_workspace()?.workspace_root;
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    let mut long = Vec::new();
    for file in &files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines = text.lines().count();
        if lines > MOST_LINES {
            let file = file.strip_prefix(&root).unwrap_or(file);
            long.push(format!("{}: {lines} lines", file.display()));
        }
    }
    if !long.is_empty() {
        bail!("longer than {MOST_LINES} lines, divide them by topic:\n  {}", long.join("\n  "));
    }
    println!("length: {} files, none above {MOST_LINES} lines", files.len());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let reading = || format!("cannot list {}", folder.display());
    for entry in folder.read_dir().with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let path = entry.path();
        let name = entry.file_name();
        if entry.file_type().with_context(reading)?.is_dir() {
            if name != "target" && !name.as_encoded_bytes().starts_with(b".") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
