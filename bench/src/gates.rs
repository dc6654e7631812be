//! The committed figures that noise does not reach: allocations of a call, instructions of a path.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// The file of the gates.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gates.json")
}

/// Heap allocations of a call by the framework, as the test `allocations` of `bench-servers` holds them.
pub(crate) fn allocations() -> anyhow::Result<Option<u64>> {
    let file = file();
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let gates: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))?;
    Ok(gates["allocations"]["handler"].as_u64())
}
