//! The committed figures that noise does not reach: allocations and instructions of a call in process.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// The file, with an object for each counter.
pub(crate) struct Gates(pub(crate) Value);

/// The path of the file.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gates.json")
}

impl Gates {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file = file();
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self(serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))?))
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let file = file();
        let text = serde_json::to_string_pretty(&self.0)? + "\n";
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Heap allocations of a call of a handler that only boxes its future and clones a patch, as the test of `bench-servers` holds them.
    /// The largest count of the paths of the framework, which differ in the size of the object.
    pub(crate) fn allocations(&self) -> Option<u64> {
        let allocations = self.0["allocations"].as_object()?.iter();
        allocations
            .filter(|(path, _)| path.starts_with("framework"))
            .filter_map(|(_, count)| count.as_u64())
            .max()
    }

    /// Instructions of a call on this path.
    pub(crate) fn instructions(&self, path: &str) -> Option<u64> {
        self.0["instructions"][path].as_u64()
    }
}
