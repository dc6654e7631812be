//! The OpenAPI documents of the API server.

use std::collections::BTreeMap;

use hyper::Request;
use serde_json::Value;

use crate::environment::Environment;
use crate::error::Error;

impl Environment {
    /// The OpenAPI v3 documents, by the path of the API group and version that they describe: `api/v1`, `apis/apps/v1`, ...
    ///
    /// # Errors
    /// [`Error::Api`] when one cannot be read.
    pub async fn openapi(&self) -> Result<BTreeMap<String, Value>, Error> {
        let client = self.admin()?;
        let read = async |path: &str| {
            client.request::<Value>(get(path)?).await.map_err(Error::api(format!("read {path}")))
        };
        let index = read("/openapi/v3").await?;
        let mut documents = BTreeMap::new();
        for (name, entry) in index["paths"].as_object().into_iter().flatten() {
            let path = entry["serverRelativeURL"].as_str().unwrap_or_default();
            documents.insert(name.clone(), read(path).await?);
        }
        Ok(documents)
    }
}

/// A request to read `path`.
pub(crate) fn get(path: &str) -> Result<Request<Vec<u8>>, Error> {
    Request::get(path).body(Vec::new()).map_err(|error| Error::Object(format!("{path}: {error}")))
}
