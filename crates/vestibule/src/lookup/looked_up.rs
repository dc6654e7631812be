//! The types that can be looked up.

use serde::de::DeserializeOwned;

/// Types whose objects can be looked up: types of k8s-openapi, custom resources by `kube::CustomResource`, structs with
/// `kube::Resource`, and [`PartialObjectMeta`](kube::api::PartialObjectMeta) of any of them. Implemented for all such types.
#[diagnostic::on_unimplemented(
    message = "objects of type `{Self}` cannot be looked up",
    note = "it takes `kube::Resource<DynamicType = ()>`, `serde::Deserialize`, `Send`, `Sync`: any type of k8s-openapi, or of \
            `kube::CustomResource`"
)]
pub trait LookedUp:
    kube::Resource<DynamicType = (), Scope: 'static> + DeserializeOwned + Send + Sync + 'static
{
}

impl<T> LookedUp for T where
    T: kube::Resource<DynamicType = (), Scope: 'static> + DeserializeOwned + Send + Sync + 'static
{
}
