//! The page that compares the examples with what they were written after: its figures and its tests.

use std::fs;
use std::path::Path;

use crate::size::{MOST_LINES, examples, rust_lines};

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
    // The tutorial's webhook is after nobody's.
    let examples: Vec<_> =
        MOST_LINES.iter().map(|(name, _)| *name).filter(|name| *name != "tidy-pods").collect();
    assert_eq!(told, examples);
}
