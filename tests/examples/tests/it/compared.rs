//! Checks the pages of comparisons: the examples with their originals, and Vestibule with other frameworks.

use std::fs;
use std::path::Path;

use crate::size::{MOST_LINES, examples, rust_lines};

const PEERS: &str = include_str!("../../../../COMPARE.md");
const INJECTORS: &str = include_str!("../../../../docs/explanation/injectors.md");
const PAGE: &str = include_str!("../../../../docs/explanation/compared.md");

#[test]
fn every_figure_of_ours_is_counted_and_every_test_exists() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut told = Vec::new();
    for row in PAGE.lines().filter_map(|line| line.strip_prefix("| [")) {
        let cells: Vec<_> = row.split(" | ").collect();
        let (name, _) = cells[0].split_once(']').unwrap();
        let lines = rust_lines(&examples().join(name).join("src"));
        assert_eq!(cells[3].parse(), Ok(lines), "{name}");
        let module = fs::read_to_string(tests.join(format!("{}.rs", name.replace('-', "_")))).unwrap();
        let test = cells[4].trim_matches(['`', ' ', '|']);
        assert!(module.contains(&format!("async fn {test}()")), "{name}: {test}");
        told.push(name);
    }
    told.sort_unstable();
    // The tutorial's webhook has no original.
    let examples: Vec<_> =
        MOST_LINES.iter().map(|(name, _)| *name).filter(|name| *name != "tidy-pods").collect();
    assert_eq!(told, examples);
}

#[test]
fn the_page_of_comparisons_is_short_and_names_tests_that_exist() {
    assert!(PEERS.lines().count() <= 120);
    let mut code = String::new();
    for folder in ["crates", "tests", "examples"] {
        read(&examples().join("..").join(folder), &mut code);
    }
    for (page, least) in [(PEERS, 20), (INJECTORS, 10)] {
        // Outside of blocks of code, identifiers with three words or more.
        let prose = page.split("```").step_by(2).flat_map(|text| text.split('`').skip(1).step_by(2));
        let named = prose.filter(|word| word.matches('_').count() > 1);
        let (there, missing): (Vec<_>, Vec<_>) =
            named.partition(|test| code.contains(&format!("fn {test}(")));
        assert!(missing.is_empty() && there.len() > least, "no such tests: {missing:?}");
    }
}

/// All Rust below the folder.
fn read(folder: &Path, code: &mut String) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            read(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
