//! The audit log of the API server: the annotations of webhooks, and refused requests.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Environment;
use crate::error::Error;

pub(super) const POLICY: &str = "audit-policy.json";
const LOG: &str = "audit.log";

impl Environment {
    /// The audit log of the first API server so far (`audit.k8s.io/v1 Event`), with
    /// [`Options::audit`](super::Options::audit): every write, and every request of a service account, at level Metadata.
    /// Empty without that option.
    ///
    /// A request that was answered before this call is in it: the event is written (`--audit-log-mode=blocking`) before
    /// the answer is complete.
    ///
    /// # Errors
    /// [`Error::File`] for a log that cannot be read.
    pub fn audit_log(&self) -> Result<Vec<Value>, Error> {
        let log = self.folder.join(LOG);
        if log.exists() { read(&log) } else { Ok(Vec::new()) }
    }
}

fn read(path: &Path) -> Result<Vec<Value>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::file("read", path, source))?;
    // The last line may be incomplete.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

pub(super) fn flags(folder: &Path) -> [String; 3] {
    let file = |name: &str| folder.join(name).display().to_string();
    [
        format!("--audit-policy-file={}", file(POLICY)),
        format!("--audit-log-path={}", file(LOG)),
        "--audit-log-mode=blocking".to_owned(),
    ]
}

/// The policy in JSON, which is YAML.
pub(super) fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "Metadata", "userGroups": ["system:serviceaccounts"] },
            // Streams, to which hooks add annotations, begin with a GET too.
            {
                "level": "Metadata",
                "resources": [{ "group": "", "resources": ["*/attach", "*/exec", "*/portforward", "*/proxy"] }],
            },
            { "level": "None", "verbs": ["get", "list", "watch"] },
            { "level": "Metadata" },
        ],
    })
}
