//! The table of faults names tests that exist.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_test_in_the_table_of_faults_exists() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(workspace.join("docs/reference/rotation-faults.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| # "));
    let cells = rows.filter_map(|row| row.trim_end_matches(['|', ' ']).rsplit('|').next());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let names: Vec<_> = quoted.filter(|word| !word.contains(' ')).collect();
    assert!(names.len() > 30, "{names:?}");

    let mut code = String::new();
    for folder in ["crates", "examples", "tests"] {
        read(&workspace.join(folder), &mut code);
    }
    let missing: Vec<_> = names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
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
