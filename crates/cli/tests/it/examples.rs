//! The example rules with their cases.

use std::path::{Path, PathBuf};

use crate::fixture::Folder;

pub(crate) fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rules").canonicalize().unwrap()
}

/// The names of the YAML files in a folder, without their ending.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|ends| ends == "yaml"));
    let mut names: Vec<String> =
        files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_example_rule_has_passing_cases() {
    let mut with_cases = names(&rules().join("tests"));
    with_cases.retain(|name| name != "together");
    assert_eq!(names(&rules()), with_cases);
    assert_eq!(with_cases.len(), 10);
    Folder::with(&[]).run(&format!("test {}", rules().join("tests").display())).exits(0);
}

#[test]
fn the_example_rules_have_no_findings() {
    Folder::with(&[]).run(&format!("lint {}", rules().display())).exits(0);
}
