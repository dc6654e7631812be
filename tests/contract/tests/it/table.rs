//! The table of the contract has every row; it and the table of faults name tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of the list this project was designed from: those about certificates have a table of their own.
const ROWS: &[u8] = &[
    1, 3, 4, 6, 7, 9, 10, 11, 12, 15, 16, 20, 21, 22, 34, 36, 38, 39, 40, 41, 42, 46, 48, 49, 50, 51, 53, 54,
    56, 57, 59, 60, 61, 63, 64, 65, 67, 68, 69, 71, 72, 73, 74, 76, 77, 78, 79, 80, 82, 83, 84,
];

#[test]
fn the_table_of_the_contract_is_whole_and_names_tests_that_exist() {
    let (page, code) = (page("contract.md"), code());
    let (mut rows, mut missing) = (BTreeSet::new(), Vec::new());
    for line in page.lines() {
        let Some((row, rest)) = line.strip_prefix("| ").and_then(|line| line.split_once(" | ")) else {
            continue;
        };
        rows.extend(row.parse::<u8>());
        let tests = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        let names: Vec<_> = tests.split('`').skip(1).step_by(2).filter(|word| !word.contains(' ')).collect();
        assert!(!names.is_empty() || row == "#", "row {row} names no test");
        missing.extend(
            names.into_iter().filter(|name| !code.contains(&format!("fn {name}("))).map(str::to_owned),
        );
    }
    assert_eq!(rows, ROWS.iter().copied().collect(), "rows that are missing, or that nobody asked for");
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

#[test]
fn every_test_in_the_table_of_faults_exists() {
    let (page, code) = (page("rotation-faults.md"), code());
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| # "));
    let cells = rows.filter_map(|row| row.trim_end_matches(['|', ' ']).rsplit('|').next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let names: Vec<_> = quoted.filter(|word| !word.contains(' ')).collect();
    assert!(names.len() > 30, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(workspace().join("docs/reference").join(name)).unwrap()
}

/// All code of the workspace.
fn code() -> String {
    let mut code = String::new();
    for folder in ["crates", "examples", "tests"] {
        read(&workspace().join(folder), &mut code);
    }
    code
}

/// All Rust below the folder.
fn read(folder: &Path, code: &mut String) {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in entries {
        if path.is_dir() {
            read(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
