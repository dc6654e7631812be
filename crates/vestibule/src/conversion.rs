//! Conversion of custom resources between versions, through one version (the hub) to and from which all others (the spokes) convert.

pub(crate) mod definition;
mod preserve_unknown;
#[cfg(test)]
mod tests;
mod versions;

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::crd::v1::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vestibule_admission::{ConversionHook, Converter};

use definition::Definition;
use versions::Versions;

/// Converts the objects of one custom resource between its versions.
///
/// It is made with [`Conversion::through`], or with [`Conversion::raw`] where there are no types, and given to
/// [`App::convert`](crate::App::convert).
#[derive(Clone)]
pub struct Conversion {
    definition: Definition,
    converter: Arc<dyn Converter>,
    path: Option<String>,
}

/// Builds a [`Conversion`] through `H`, the version to and from which all others convert.
pub struct ConversionBuilder<H> {
    definition: Definition,
    versions: Versions<H>,
    path: Option<String>,
}

/// The type of one version: any type with `#[derive(kube::CustomResource)]`.
pub trait Version:
    kube::Resource<DynamicType = ()> + CustomResourceExt + Serialize + DeserializeOwned + 'static
{
}

impl<T> Version for T where
    T: kube::Resource<DynamicType = ()> + CustomResourceExt + Serialize + DeserializeOwned + 'static
{
}

impl Conversion {
    /// Converts through `H`, a version that can hold the data of every other one ("hub and spokes"). `H` is also the stored
    /// version, unless [`ConversionBuilder::stored`] names another.
    ///
    /// [`ConversionBuilder::version`] adds another version by two functions, whose types name it. They must pass `metadata` on; only
    /// labels and annotations of it may change. Members of an object that the types do not know are kept at their paths.
    ///
    /// ```
    /// use kube::CustomResource;
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    /// use vestibule::{App, Conversion};
    ///
    /// mod v1 {
    ///     # use super::*;
    ///     #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    ///     #[kube(group = "example.com", version = "v1", kind = "Link", namespaced)]
    ///     pub struct LinkSpec { pub address: String }
    /// }
    /// mod v2 {
    ///     # use super::*;
    ///     #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    ///     #[kube(group = "example.com", version = "v2", kind = "Link", namespaced)]
    ///     pub struct LinkSpec { pub host: String, pub port: u16 }
    /// }
    ///
    /// fn to_v2(old: v1::Link) -> Result<v2::Link, &'static str> {
    ///     let (host, port) = old.spec.address.split_once(':').ok_or("spec.address is not HOST:PORT")?;
    ///     let port = port.parse().map_err(|_| "the port of spec.address is none")?;
    ///     Ok(v2::Link { metadata: old.metadata, spec: v2::LinkSpec { host: host.to_owned(), port } })
    /// }
    ///
    /// fn to_v1(new: v2::Link) -> Result<v1::Link, &'static str> {
    ///     let address = format!("{}:{}", new.spec.host, new.spec.port);
    ///     Ok(v1::Link { metadata: new.metadata, spec: v1::LinkSpec { address } })
    /// }
    ///
    /// # fn main() {
    /// let app = App::new("links").convert("links", Conversion::through::<v2::Link>().version(to_v2, to_v1));
    /// # app.check().unwrap();
    /// # }
    /// ```
    pub fn through<H: Version>() -> ConversionBuilder<H> {
        let hub =
            ConversionBuilder { definition: Definition::of::<H>(), versions: Versions::new(), path: None };
        hub.version(Ok::<H, Infallible>, Ok::<H, Infallible>)
    }

    /// Converts the objects of the custom resource `name` (`widgets.example.com`) one by one, as JSON. The manifests do not
    /// contain its definition, unless it is [given](Self::definition).
    ///
    /// ```
    /// use serde_json::value::RawValue;
    /// use vestibule::{App, Conversion};
    /// use vestibule::admission::Unconvertible;
    ///
    /// fn renamed(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    ///     let mut object: serde_json::Value =
    ///         serde_json::from_str(object.get()).map_err(|_| Unconvertible::new("it is no object"))?;
    ///     object["apiVersion"] = desired.into();
    ///     serde_json::value::to_raw_value(&object).map_err(Unconvertible::new)
    /// }
    ///
    /// let app = App::new("links").convert("links", Conversion::raw("links.example.com", renamed));
    /// # app.check().unwrap();
    /// ```
    pub fn raw(name: &str, converter: impl Converter) -> Self {
        Self { definition: Definition::named(name), converter: Arc::new(converter), path: None }
    }

    /// Sets the author's own definition, which is printed with its `spec.conversion` filled in.
    #[must_use]
    pub fn definition(mut self, definition: CustomResourceDefinition) -> Self {
        self.definition.replace(definition);
        self
    }

    /// Converts at another path than `/convert/NAME`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    pub(crate) fn path_or(&self, name: &str) -> String {
        self.path.clone().unwrap_or_else(|| format!("/convert/{name}"))
    }

    pub(crate) fn hook(&self, name: &str) -> ConversionHook {
        let converter = Arc::clone(&self.converter);
        ConversionHook::new(name, move |object: &_, desired: &_| converter.convert(object, desired))
    }

    pub(crate) fn described(&self) -> &Definition {
        &self.definition
    }
}

impl<H: Version> ConversionBuilder<H> {
    /// Adds a version. The user who requested the object reads the error; it must not quote values of the object.
    #[must_use]
    pub fn version<S: Version, E: Display, F: Display>(
        mut self,
        to_hub: impl Fn(S) -> Result<H, E> + Send + Sync + 'static,
        from_hub: impl Fn(H) -> Result<S, F> + Send + Sync + 'static,
    ) -> Self {
        let version = S::api_version(&()).into_owned();
        if self.versions.add(version.clone(), beside_spec::<S>(), to_hub, from_hub) {
            self.definition.add::<S>();
        } else {
            self.definition.problem(format!("{version} is converted twice; leave one of them out"));
        }
        self
    }

    /// Stores objects in `version` (`v1`) instead of `H`.
    #[must_use]
    pub fn stored(mut self, version: &str) -> Self {
        self.definition.store(version);
        self
    }

    /// Sets the author's own definition, instead of the one derived from the types.
    #[must_use]
    pub fn definition(mut self, definition: CustomResourceDefinition) -> Self {
        self.definition.replace(definition);
        self
    }

    /// Converts at another path than `/convert/NAME`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }
}

impl<H: Version> From<ConversionBuilder<H>> for Conversion {
    fn from(hub: ConversionBuilder<H>) -> Self {
        Self { definition: hub.definition, converter: Arc::new(hub.versions), path: hub.path }
    }
}

/// The schemas of the members beside the spec, if the schema of this version requires a spec.
fn beside_spec<S: Version>() -> Option<Value> {
    let version = S::crd().spec.versions.into_iter().next()?;
    let mut schema = version.schema?.open_api_v3_schema?;
    schema.required.as_ref()?.iter().find(|name| *name == "spec")?;
    schema.properties.as_mut()?.remove("spec");
    let mut beside = serde_json::to_value(schema.properties).ok()?;
    remove_descriptions(&mut beside);
    Some(beside)
}

/// The texts differ between types with the same fields.
fn remove_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // A field may be named `description`: its schema is no text.
            members.retain(|name, value| name != "description" || !value.is_string());
            members.values_mut().for_each(remove_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
}
