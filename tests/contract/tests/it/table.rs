//! The tables of the contract and of the injector's cases have every row; they, the promises and the table of faults name tests
//! that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of the list this project was designed from: those about certificates have a table of their own.
const ROWS: &[u8] = &[
    1, 3, 4, 6, 7, 9, 10, 11, 12, 15, 16, 20, 21, 22, 33, 34, 36, 38, 39, 40, 41, 42, 46, 48, 49, 50, 51, 53,
    54, 56, 57, 59, 60, 61, 63, 64, 65, 67, 68, 69, 71, 72, 73, 74, 76, 77, 78, 79, 80, 82, 83, 84,
];

/// Rows of the table that the injector was designed by; what is missing was withdrawn, or is an example of its own.
const CASES: &[u8] =
    &[1, 2, 3, 5, 6, 9, 11, 12, 14, 16, 17, 19, 21, 22, 24, 25, 26, 27, 28, 30, 31, 33, 35, 36];

#[test]
fn the_table_of_the_contract_is_whole_and_names_tests_that_exist() {
    let code = code();
    let rows = rows(&page("contract.md"), &code);
    let numbers: BTreeSet<u8> = rows.iter().filter_map(|(row, _)| row.parse().ok()).collect();
    assert_eq!(numbers, ROWS.iter().copied().collect(), "rows that are missing, or that nobody asked for");
}

#[test]
fn the_tables_of_injection_are_whole_and_name_tests_of_their_numbers() {
    let code = code();
    let rows = rows(&page("injection-cases.md"), &code);
    let cases = CASES.iter().map(|row| (row.to_string(), format!("row_{row:02}_")));
    let defects = (1..=18).map(|defect| (format!("D{defect}"), format!("d{defect:02}_")));
    for (row, prefix) in cases.chain(defects) {
        let names = rows.iter().filter(|(found, _)| *found == row).flat_map(|(_, names)| names);
        assert!(names.into_iter().any(|name| name.starts_with(&prefix)), "row {row} names no {prefix}...");
    }
    let numbered = rows.iter().filter(|(row, _)| row != "–").count();
    assert_eq!(numbered, CASES.len() + 18, "rows that nobody asked for");
}

/// Cases of the front door that need no second machine.
#[test]
fn the_tables_of_fire_are_whole_and_name_tests_and_cases_that_exist() {
    let (page, code) = (page("fire.md"), code());
    let cases = fs::read_to_string(workspace().join("tests/fire/src/cases.rs")).unwrap();
    let cells: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).collect();
    let faults = (1..=21).chain([26]).map(|number| format!("F{number:02}"));
    for row in faults.chain((1..=18).map(|number| format!("A{number:02}"))) {
        let Some((_, rest)) = cells.iter().find(|(found, _)| *found == row) else { panic!("no row {row}") };
        let held = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        let named: Vec<_> = held.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "nothing holds {row}");
        for name in named {
            let exists = match name.strip_prefix("cargo xtask ") {
                Some(command) => is_a_case(command, &cases),
                None => code.contains(&format!("fn {name}(")),
            };
            assert!(exists, "{row} names {name}, which does not exist");
        }
    }
}

/// Whether the command begins something that there is: `fire` has cases by name.
fn is_a_case(command: &str, cases: &str) -> bool {
    let case = command.strip_prefix("fire ").map(|name| format!("\"{name}\","));
    case.is_none_or(|case| cases.contains(&case))
}

#[test]
fn every_promise_is_held_by_tests_that_exist() {
    let cases = fs::read_to_string(workspace().join("tests/fire/src/cases.rs")).unwrap();
    let (page, code) = (page("promises.md"), code());
    let rows = rows(&page, &code);
    assert!(rows.len() > 20, "{rows:?}");
    let commands = page.split('`').filter_map(|quoted| quoted.strip_prefix("cargo xtask fire "));
    let named = commands.flat_map(str::split_whitespace).filter(|name| *name != "--long");
    let missing: Vec<_> = named.filter(|name| !is_a_case(&format!("fire {name}"), &cases)).collect();
    assert!(missing.is_empty(), "no such cases: {missing:?}");
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
    let cases = fs::read_to_string(workspace().join("tests/fire/src/cases.rs")).unwrap();
    let commands = page.split('`').filter_map(|word| word.strip_prefix("cargo xtask "));
    let missing: Vec<_> = commands.filter(|command| !is_a_case(command, &cases)).collect();
    assert!(missing.is_empty(), "no such cases: {missing:?}");
}

/// The rows of all tables of a page, each with the tests that its last cell names; all of them exist.
fn rows(page: &str, code: &str) -> Vec<(String, Vec<String>)> {
    let mut rows = Vec::new();
    for line in page.lines() {
        let Some((row, rest)) = line.strip_prefix("| ").and_then(|line| line.split_once(" | ")) else {
            continue;
        };
        if row == "#" {
            continue;
        }
        let tests = rest.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        let names: Vec<_> = tests.split('`').skip(1).step_by(2).filter(|word| !word.contains(' ')).collect();
        assert!(!names.is_empty(), "row {row} names no test");
        let missing: Vec<_> = names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
        assert!(missing.is_empty(), "no such tests: {missing:?}");
        rows.push((row.to_owned(), names.into_iter().map(str::to_owned).collect()));
    }
    rows
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
