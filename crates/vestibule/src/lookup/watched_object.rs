//! Decoding of listed and watched objects, without their content in logs.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::looked_up::LookedUp;

/// An object of a list or a watch. It is not decoded by the client, which would log the whole list if one object does not fit the
/// type, and would drop all of it. kube's `DeserializeGuard` would need `T: Clone + Debug`, and keeps an error text that may quote a
/// value.
pub(super) struct WatchedObject<T> {
    pub(super) metadata: ObjectMeta,
    /// [`None`] if the object does not fit the type.
    pub(super) object: Option<Arc<T>>,
}

#[derive(serde::Deserialize)]
struct OnlyMetadata {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl<'de, T: LookedUp> Deserialize<'de> for WatchedObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let object: Option<T> = serde_json::from_str(text.get()).ok();
        let metadata = match &object {
            // The watch uses these members only.
            Some(object) => ObjectMeta {
                name: object.meta().name.clone(),
                namespace: object.meta().namespace.clone(),
                resource_version: object.meta().resource_version.clone(),
                ..ObjectMeta::default()
            },
            None => serde_json::from_str::<OnlyMetadata>(text.get())
                .map_or_else(|_| ObjectMeta::default(), |it| it.metadata),
        };
        Ok(Self { metadata, object: object.map(Arc::new) })
    }
}

impl<T> Clone for WatchedObject<T> {
    fn clone(&self) -> Self {
        Self { metadata: self.metadata.clone(), object: self.object.clone() }
    }
}

impl<T> fmt::Debug for WatchedObject<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }
}

impl<T: LookedUp> Resource for WatchedObject<T> {
    type DynamicType = ();
    type Scope = DynamicResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        T::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        T::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        T::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        T::plural(&())
    }

    fn metadata_api() -> bool {
        T::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
