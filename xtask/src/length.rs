//! Checks that no source file is longer than 500 lines.

use anyhow::bail;

use crate::{cargo, files};

const MOST_LINES: usize = 500;

/// Counts the lines of every Rust file of the checkout.
pub(crate) fn run() -> anyhow::Result<()> {
    let root = cargo::workspace();
    let mut files = files::below(&root)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let mut long = Vec::new();
    for file in &files {
        let lines = files::read(file)?.lines().count();
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
