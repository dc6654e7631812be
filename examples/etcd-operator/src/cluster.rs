use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cluster of etcd members, each with storage of its own.
#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "etcd.example.dev", version = "v1", kind = "EtcdCluster", namespaced)]
pub struct EtcdClusterSpec {
    /// How many members; an odd number, so that fewer than half may fail.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 7))]
    pub members: i32,
    /// The release of etcd that runs.
    #[schemars(regex(pattern = r"^3\.\d+\.\d+$"))]
    pub version: String,
    /// The storage of each member.
    pub storage: Storage,
}

/// The storage of one member.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// How much. It may grow.
    pub size: Quantity,
    /// Of which StorageClass; unless given, the default one at the time of creation. It never changes.
    pub class_name: Option<String>,
}

fn three() -> i32 {
    3
}
