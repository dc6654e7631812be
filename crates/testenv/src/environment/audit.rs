//! The API server's audit log: what webhooks left in it, and whom the API server refused.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::Environment;
use crate::{Error, poll};

pub(super) const POLICY: &str = "audit-policy.json";
const LOG: &str = "audit.log";

impl Environment {
    /// What the first API server has written into its audit log so far (`audit.k8s.io/v1 Event`), with
    /// [`Options::audit`](super::Options::audit): every write, and whatever service accounts ask for, at level Metadata.
    /// Nothing where no log is kept.
    ///
    /// A request that was answered before this call is in it.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Late`] when the API server does not answer, [`Error::File`] for a log that cannot be
    /// read.
    pub async fn audit_log(&self) -> Result<Vec<Value>, Error> {
        if !self.folder.join(POLICY).exists() {
            return Ok(Vec::new());
        }
        // An event is written when its request is over, a moment after the answer. Once a later one is there, so are
        // those before it.
        let name = format!("audit-{}", self.number());
        let mark = ConfigMap {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            ..ConfigMap::default()
        };
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let marks: Api<ConfigMap> = Api::namespaced(self.admin()?, "default");
        // Refused or not, it is in the log.
        drop(marks.create(&dry_run, &mark).await);
        poll::until("the audit log being written", 30, async || {
            let events = self.audit_log_so_far()?;
            let there = events.iter().any(|event| event["objectRef"]["name"] == name.as_str());
            Ok(there.then_some(events))
        })
        .await
    }

    /// The same, but what was answered a moment ago may not be in it yet.
    ///
    /// # Errors
    /// [`Error::File`] for a log that cannot be read.
    pub fn audit_log_so_far(&self) -> Result<Vec<Value>, Error> {
        let log = self.folder.join(LOG);
        if log.exists() { read(&log) } else { Ok(Vec::new()) }
    }
}

fn read(path: &Path) -> Result<Vec<Value>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::file("read", path, source))?;
    // The last line may not be whole yet.
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

/// JSON is YAML.
pub(super) fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "Metadata", "userGroups": ["system:serviceaccounts"] },
            { "level": "None", "verbs": ["get", "list", "watch"] },
            { "level": "Metadata" },
        ],
    })
}
