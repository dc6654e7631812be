//! A custom resource with more fields than our type has.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// The fields that a handler uses.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Widget {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Spec,
}

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Spec {
    pub(crate) size: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) colour: Option<String>,
}

impl Widget {
    /// Installs the definition of widgets; several tests may call it.
    pub(crate) async fn define(cluster: &Cluster) {
        // Only a CustomResourceDefinition is installed, which stays after the returned value is dropped.
        drop(cluster.environment.install([definition()]).await.unwrap());
    }
}

fn definition() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.cluster.test" },
        "spec": {
            "group": "cluster.test",
            "scope": "Namespaced",
            "names": { "kind": "Widget", "singular": "widget", "plural": "widgets" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": anything } } },
            }],
        },
    })
}

impl Resource for Widget {
    const API_VERSION: &'static str = "cluster.test/v1";
    const GROUP: &'static str = "cluster.test";
    const KIND: &'static str = "Widget";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "widgets";
    type Scope = NamespaceResourceScope;
}

impl Metadata for Widget {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
