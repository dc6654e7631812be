//! Heap allocations of a call in process, against the committed figures.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

use bench_servers::paths::{self, ALL};
use serde_json::{Value, json};

/// Writes the figures instead of comparing them.
const UPDATE: &str = "VESTIBULE_UPDATE_GOLDEN";

#[tokio::test]
async fn no_path_allocates_more_often_than_before() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gates.json");
    let mut gates: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let updates = std::env::var_os(UPDATE).is_some();
    let mut more = Vec::new();
    for name in ALL {
        let count = count(name);
        let committed = gates["allocations"][name].as_u64();
        if updates {
            gates["allocations"][name] = json!(count);
        } else if committed.is_none_or(|committed| count > committed) {
            more.push(format!("{name}: {count} allocations, {committed:?} before"));
        }
    }
    if updates {
        std::fs::write(&file, serde_json::to_string_pretty(&gates).unwrap() + "\n").unwrap();
    }
    assert!(more.is_empty(), "{}\nIf that is wanted: {UPDATE}=1", more.join("\n"));
}

/// The least of some calls: a table that grows, or a first use, is not of the call.
fn count(name: &str) -> u64 {
    let path = paths::Path::new(name).unwrap();
    let one = || {
        let mut size = 0;
        let counted = allocation_counter::measure(|| size = path.call().unwrap().len());
        assert!(size > 100, "{name}: an answer of {size} bytes");
        counted.count_total
    };
    (0..5).map(|_| one()).min().unwrap()
}
