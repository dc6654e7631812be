//! The sample pods that rules are proved on.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// A pod of the corpus.
#[derive(Deserialize)]
pub(super) struct SamplePod {
    /// Its name in findings.
    pub(super) name: String,
    /// The kind of its owner; empty without one.
    #[serde(default)]
    pub(super) owner: String,
    /// Its metadata has labels, and no owner.
    pub(super) pod: Value,
}

pub(super) static SAMPLE_PODS: LazyLock<Vec<SamplePod>> =
    LazyLock::new(|| serde_json::from_str(include_str!("corpus.json")).unwrap_or_default());
