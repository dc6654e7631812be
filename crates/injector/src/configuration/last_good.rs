//! What was good, kept over restarts in a ConfigMap of our own.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};
use serde::{Deserialize, Serialize};

use super::settle::Document;

/// The key of the documents, as JSON.
const KEY: &str = "documents.json";
/// The form of what is stored.
const VERSION: u8 = 1;
/// What a ConfigMap may hold, its keys among it (`MaxSecretSize` of the API server's validation).
const LARGEST: usize = 1024 * 1024;
/// How often it is tried again after another replica was faster.
const ATTEMPTS: usize = 5;

/// The ConfigMap. A replica writes when its own documents change and never because another's are others: whoever sees the
/// newest texts last writes last, and nobody answers.
pub(crate) struct LastGood {
    pub(crate) config_maps: Api<ConfigMap>,
    pub(crate) name: String,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u8,
    documents: Vec<Document>,
}

/// Why documents are not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// They are cut nowhere: half of the rules would be other rules.
    #[error(
        "they take {bytes} bytes, and a ConfigMap holds {LARGEST}: a restart would find those stored before"
    )]
    TooLarge { bytes: usize },
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("other replicas write it all the time")]
    Contended,
}

impl LastGood {
    /// What is stored; nothing where nothing is, or nobody can read it any more.
    pub(crate) async fn read(&self) -> Result<Option<Vec<Document>>, kube::Error> {
        let Some(found) = self.config_maps.get_opt(&self.name).await? else { return Ok(None) };
        let stored: Option<Stored> =
            found.data.as_ref().and_then(|data| serde_json::from_str(data.get(KEY)?).ok());
        let stored = stored.filter(|stored| stored.version == VERSION);
        if stored.is_none() {
            let name = &self.name;
            tracing::warn!(
                "the ConfigMap {name} cannot be understood; it is written anew with the next good rules"
            );
        }
        Ok(stored.map(|stored| stored.documents))
    }

    /// Stores `documents` unless they are stored already.
    pub(crate) async fn write(&self, documents: &[Document]) -> Result<(), StoreError> {
        let stored = Stored { version: VERSION, documents: documents.to_vec() };
        // A document is made of texts and a number: that can always be written.
        let text = serde_json::to_string(&stored).unwrap_or_default();
        let bytes = text.len() + KEY.len();
        if bytes > LARGEST {
            return Err(StoreError::TooLarge { bytes });
        }
        for _ in 0..ATTEMPTS {
            match self.write_once(&text).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                done => return Ok(done?),
            }
        }
        Err(StoreError::Contended)
    }

    /// With the version that was read as the condition.
    async fn write_once(&self, text: &str) -> Result<(), kube::Error> {
        let found = self.config_maps.get_opt(&self.name).await?;
        let known = found.as_ref().and_then(|found| found.data.as_ref()?.get(KEY));
        if known.is_some_and(|known| known == text) {
            return Ok(());
        }
        let data = Some(BTreeMap::from([(KEY.to_owned(), text.to_owned())]));
        let params = PostParams::default();
        if let Some(found) = found {
            let config_map = ConfigMap { data, ..found };
            return self.config_maps.replace(&self.name, &params, &config_map).await.map(drop);
        }
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let config_map = ConfigMap { data, metadata, ..ConfigMap::default() };
        self.config_maps.create(&params, &config_map).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use kube::{Client, Config};

    use super::*;

    #[tokio::test]
    async fn what_does_not_fit_is_not_cut() {
        let nowhere = Config::new("http://127.0.0.1:1".parse().unwrap());
        let config_maps = Api::namespaced(Client::try_from(nowhere).unwrap(), "injector");
        let last_good = LastGood { config_maps, name: "injector-last-good".to_owned() };
        let large = Document::of("x".repeat(LARGEST));
        let error = last_good.write(&[large]).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { bytes } if bytes > LARGEST), "{error}");
        // It is asked whether one that fits may be written.
        assert!(matches!(last_good.write(&[Document::of("x".to_owned())]).await, Err(StoreError::Api(_))));
    }
}
