//! The last good documents, stored over restarts in a ConfigMap of the injector.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, PostParams};
use serde::{Deserialize, Serialize};
use vestibule::identity::with_causes;

use super::rule_source::RuleDocument;
use crate::deadline::with_timeout;

/// The name of the ConfigMap. It does not have the label of ConfigMaps with rules.
pub(crate) const LAST_GOOD: &str = "injector-last-good";
/// The key of the documents, as JSON.
const KEY: &str = "documents.json";
/// The version of the stored format.
const VERSION: u8 = 1;
/// The size that a ConfigMap may have, with its keys (`MaxSecretSize` in the API server's validation).
const MAX_BYTES: usize = 1024 * 1024;
/// The number of attempts when other replicas write at the same time.
const ATTEMPTS: usize = 5;

/// The ConfigMap. A replica writes it only when its own documents change, so replicas with different documents do not
/// overwrite each other in turn.
pub(crate) struct LastGood(Api<ConfigMap>);

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u8,
    documents: Vec<RuleDocument>,
}

/// Why documents are not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Documents are never cut: half of the rules would be other rules.
    #[error(
        "they take {bytes} bytes, and a ConfigMap holds {MAX_BYTES}: a restart would find those stored before"
    )]
    TooLarge { bytes: usize },
    #[error("{}", with_causes(.0))]
    Api(#[from] kube::Error),
    #[error("each attempt to write it met a conflict: other replicas write it too")]
    Contended,
}

impl LastGood {
    /// The ConfigMap in `namespace`.
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self(Api::namespaced(client, namespace))
    }

    /// The stored documents; [`None`] where none are stored, or the format is not understood.
    pub(crate) async fn read(&self) -> Result<Option<Vec<RuleDocument>>, kube::Error> {
        let Some(found) = with_timeout(self.0.get_opt(LAST_GOOD)).await? else { return Ok(None) };
        let stored: Option<Stored> =
            found.data.as_ref().and_then(|data| serde_json::from_str(data.get(KEY)?).ok());
        let stored = stored.filter(|stored| stored.version == VERSION);
        if stored.is_none() {
            tracing::warn!(
                "the ConfigMap {LAST_GOOD} cannot be understood; it is written anew with the next good rules"
            );
        }
        Ok(stored.map(|stored| stored.documents))
    }

    /// Stores `documents` unless they are stored already.
    pub(crate) async fn write(&self, documents: &[RuleDocument]) -> Result<(), StoreError> {
        let text = to_store(documents)?;
        for _ in 0..ATTEMPTS {
            match self.write_once(&text).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                done => return Ok(done?),
            }
        }
        Err(StoreError::Contended)
    }

    /// Writes on the condition that the ConfigMap has the resource version that was read.
    async fn write_once(&self, text: &str) -> Result<(), kube::Error> {
        let found = with_timeout(self.0.get_opt(LAST_GOOD)).await?;
        let known = found.as_ref().and_then(|found| found.data.as_ref()?.get(KEY));
        if known.is_some_and(|known| known == text) {
            return Ok(());
        }
        let data = Some(BTreeMap::from([(KEY.to_owned(), text.to_owned())]));
        let params = PostParams::default();
        if let Some(found) = found {
            let config_map = ConfigMap { data, ..found };
            return with_timeout(self.0.replace(LAST_GOOD, &params, &config_map)).await.map(drop);
        }
        let metadata = ObjectMeta { name: Some(LAST_GOOD.to_owned()), ..ObjectMeta::default() };
        let config_map = ConfigMap { data, metadata, ..ConfigMap::default() };
        with_timeout(self.0.create(&params, &config_map)).await.map(drop)
    }
}

/// The text for the ConfigMap.
pub(crate) fn to_store(documents: &[RuleDocument]) -> Result<String, StoreError> {
    let stored = Stored { version: VERSION, documents: documents.to_vec() };
    let text = serde_json::to_string(&stored).unwrap_or_default();
    let bytes = text.len() + KEY.len();
    if bytes > MAX_BYTES { Err(StoreError::TooLarge { bytes }) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use kube::Config;

    use super::*;

    #[tokio::test]
    async fn documents_that_do_not_fit_are_refused_and_not_cut() {
        let nowhere = Config::new("http://127.0.0.1:1".parse().unwrap());
        let last_good = LastGood::new(Client::try_from(nowhere).unwrap(), "injector");
        let large = RuleDocument::of("x".repeat(MAX_BYTES));
        let error = last_good.write(&[large]).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { bytes } if bytes > MAX_BYTES), "{error}");
        // A document that fits is sent to the API server, which does not answer here.
        assert!(matches!(
            last_good.write(&[RuleDocument::of("x".to_owned())]).await,
            Err(StoreError::Api(_))
        ));
    }
}
