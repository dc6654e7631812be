//! Compares docs/reference/events.md with the reasons of Events in the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::table::append_rust_files;

/// The crates that write Events.
const CRATES: [&str; 4] = ["command", "identity", "injector", "vestibule"];

#[test]
fn reasons_on_the_page_are_in_the_code_and_reasons_of_the_ring_are_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/reference/events.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let reasons: BTreeSet<&str> =
        rows.flat_map(|row| row.split(" | ").next().unwrap().split('`').skip(1).step_by(2)).collect();

    let mut files = Vec::new();
    for name in CRATES {
        append_rust_files(&root.join("crates").join(name).join("src"), &mut files);
    }
    let code: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let missing: Vec<_> = reasons.iter().filter(|reason| !code.contains(&format!("\"{reason}\""))).collect();
    assert!(missing.is_empty(), "{missing:?} are not in the code");
    let quoted = code.split("Some(\"").skip(1).filter_map(|rest| rest.split_once("\")"));
    let of_rings: BTreeSet<_> = quoted
        .map(|(word, _)| word)
        .filter(|word| word.starts_with("Ring") && word.chars().all(char::is_alphanumeric))
        .collect();
    assert!(!of_rings.is_empty());
    let absent: Vec<_> = of_rings.iter().filter(|reason| !reasons.contains(*reason)).collect();
    assert!(absent.is_empty(), "{absent:?} are not on the page");
}
