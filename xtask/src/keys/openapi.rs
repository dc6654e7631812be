//! The parts of `/openapi/v3` that the table needs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::files;

/// The schemas of all groups in one map.
#[derive(Default)]
pub(super) struct Documents {
    /// The version of the server: `v1.36.2`.
    pub(super) version: String,
    pub(super) schemas: BTreeMap<String, Schema>,
}

/// One type.
#[derive(Deserialize)]
pub(super) struct Schema {
    #[serde(default)]
    pub(super) properties: BTreeMap<String, Property>,
    #[serde(default)]
    pub(super) required: Vec<String>,
    #[serde(default, rename = "x-kubernetes-group-version-kind")]
    pub(super) kinds: Vec<Kind>,
}

/// The group, version and kind of a type.
#[derive(Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// One member of a type, or the items of a list.
#[derive(Deserialize)]
pub(super) struct Property {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(default, rename = "allOf")]
    all_of: Vec<Self>,
    pub(super) items: Option<Box<Self>>,
    pub(super) default: Option<Value>,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list_type: Option<String>,
    #[serde(default, rename = "x-kubernetes-list-map-keys")]
    pub(super) list_keys: Vec<String>,
}

impl Documents {
    /// Reads every JSON file of `folder` that holds schemas.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut documents = Self::default();
        for path in files::list(folder)? {
            let text = files::read(&path)?;
            documents.add(&text).with_context(|| format!("{} is not an OpenAPI document", path.display()))?;
        }
        if documents.schemas.is_empty() {
            bail!("no file of {} is an OpenAPI document with schemas", folder.display());
        }
        Ok(documents)
    }

    /// Adds a document. A type in the documents of several groups is equal in all of them in the fields that are read here.
    pub(super) fn add(&mut self, text: &str) -> anyhow::Result<()> {
        let file: File = serde_json::from_str(text)?;
        if let Some(components) = file.components {
            self.version = file.info.version;
            self.schemas.extend(components.schemas);
        }
        Ok(())
    }
}

impl Property {
    /// The name of the type this refers to, directly or beside a default.
    pub(super) fn refers_to(&self) -> Option<&str> {
        let reference = self
            .reference
            .as_deref()
            .or_else(|| self.all_of.iter().find_map(|part| part.reference.as_deref()));
        reference.and_then(|reference| reference.strip_prefix("#/components/schemas/"))
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    info: Info,
    components: Option<Components>,
}

#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct Components {
    #[serde(default)]
    schemas: BTreeMap<String, Schema>,
}
