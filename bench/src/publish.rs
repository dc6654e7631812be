//! The page and the picture of the documentation, made of the results in `bench/results.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::report::results::Results;
use crate::report::{page, picture};

/// The file of the results of the latest run that was published.
pub(crate) fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results.json")
}

/// Writes the page and the picture.
pub(crate) fn page(results: &Results) -> anyhow::Result<()> {
    for (file, text) in [(file("md"), page::of(results)), (file("svg"), picture::of(&results.rows))] {
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn file(extension: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    folder.join("performance").with_extension(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_the_picture_are_made_of_the_results() {
        let results = Results::read(&results()).unwrap();
        let hint = "cargo xtask bench --page";
        for (file, text) in [(file("md"), page::of(&results)), (file("svg"), picture::of(&results.rows))] {
            let found = fs::read_to_string(&file).unwrap();
            assert!(found == text, "{} is not what the results say: {hint}", file.display());
        }
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, results) = (folder.path().join("results.json"), Results::read(&results()).unwrap());
        results.write(&file).unwrap();
        assert_eq!(Results::read(&file).unwrap(), results);
    }
}
