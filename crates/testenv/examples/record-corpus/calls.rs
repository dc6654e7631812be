//! The calls of the corpus: `calls.yaml` lists them.

use hyper::{Method, Request};
use serde::Deserialize;
use serde_json::Value;

/// A request to the API server, and where the review that it causes is written.
#[derive(Deserialize)]
pub(crate) struct Call {
    /// The name of the file, without its extension.
    pub(crate) file: Option<String>,
    /// The purpose of the review, for the table of the folder.
    #[serde(default)]
    pub(crate) about: String,
    /// The path of the hook whose review is written.
    #[serde(default = "everything")]
    pub(crate) hook: String,
    /// The ServiceAccount of namespace `corpus` that makes the call; otherwise it is the administrator.
    #[serde(rename = "as")]
    pub(crate) service_account: Option<String>,
    #[serde(flatten)]
    target: Target,
    #[serde(default)]
    pub(crate) body: Value,
}

/// The path of the request, by its kind.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Target {
    Post(String),
    Delete(String),
    Apply(String),
    Merge(String),
    Strategic(String),
}

/// The calls, in their order.
pub(crate) fn all() -> anyhow::Result<Vec<Call>> {
    Ok(serde_saphyr::from_str(include_str!("calls.yaml"))?)
}

impl Call {
    pub(crate) fn request(&self) -> anyhow::Result<Request<Vec<u8>>> {
        let (method, path, media_type) = match &self.target {
            Target::Post(path) => (Method::POST, path, "application/json"),
            Target::Delete(path) => (Method::DELETE, path, "application/json"),
            Target::Apply(path) => (Method::PATCH, path, "application/apply-patch+yaml"),
            Target::Merge(path) => (Method::PATCH, path, "application/merge-patch+json"),
            Target::Strategic(path) => (Method::PATCH, path, "application/strategic-merge-patch+json"),
        };
        let body = if self.body.is_null() { Vec::new() } else { serde_json::to_vec(&self.body)? };
        Ok(Request::builder().method(method).uri(path).header("Content-Type", media_type).body(body)?)
    }
}

fn everything() -> String {
    "/everything".to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_call_has_a_request_and_every_file_one_call() {
        let calls = all().unwrap();
        assert!(calls.iter().all(|call| call.request().is_ok()));
        let files: Vec<_> = calls.iter().filter_map(|call| call.file.as_ref()).collect();
        assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), files.len());
    }
}
