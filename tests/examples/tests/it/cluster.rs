//! Requests of the tests to the API server, and its replies.

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Error, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use vestibule_test::Cluster;

/// Objects of one kind in a namespace, for an administrator.
pub(crate) fn api<T>(cluster: &Cluster, namespace: &str) -> Api<T>
where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned,
{
    Api::namespaced(cluster.client(), namespace)
}

/// An object as a user writes it.
#[track_caller]
pub(crate) fn object<T: DeserializeOwned>(text: Value) -> T {
    serde_json::from_value(text).unwrap()
}

/// The message of a request that the API server refused with `code`.
#[track_caller]
pub(crate) fn refusal<T>(outcome: Result<T, Error>, code: u16) -> String {
    match outcome {
        Err(Error::Api(status)) => {
            assert_eq!(status.code, code, "{}", status.message);
            status.message
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is not refused"),
    }
}
