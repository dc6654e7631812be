//! The annotations of a ring on objects of a cluster, and the places of `caBundle` in them. Programs that inspect a ring use this
//! module; a running replica has its [`Status`](crate::Status).

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use vestibule_pki::ring::Request;

use crate::{RegistrationKind, RegistrationName};

/// The annotation with the generation of the ring that made the bundle, in decimal digits.
pub const GENERATION: &str = "vestibule.dev/ca-generation";
/// The annotation with the ring's family, in hexadecimal digits.
pub const LINEAGE: &str = "vestibule.dev/ca-lineage";
/// The annotation on a ring's Secret that requests a rotation. A new value is a new request.
pub const ROTATE: &str = "vestibule.dev/rotate";
/// The annotation on a ring's Secret that requests a revocation.
pub const REVOKE: &str = "vestibule.dev/revoke";

/// The requested rotation and revocation, as [`Ring::read`](vestibule_pki::ring::Ring::read) takes them.
#[must_use]
pub fn requests(secret: &ObjectMeta) -> (u64, u64) {
    let digest = |annotation| {
        let value = secret.annotations.as_ref().and_then(|annotations| annotations.get(annotation));
        Request::digest(value.map(String::as_str))
    };
    (digest(ROTATE), digest(REVOKE))
}

/// The place of a `caBundle` in an object.
pub struct Place<'a> {
    /// JSON pointer to the object that holds the `caBundle`.
    pub pointer: String,
    /// The pointer to the name of its list entry, and the name.
    pub name: Option<(String, &'a str)>,
    /// The object that holds the `caBundle`.
    config: &'a Value,
}

impl RegistrationKind {
    /// The kind of API object.
    #[must_use]
    pub fn resource(self) -> ApiResource {
        let (group, kind, plural) = match self {
            Self::Mutating => (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            Self::Validating => (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            Self::CustomResource => {
                ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
            }
            Self::ApiService => ("apiregistration.k8s.io", "APIService", "apiservices"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
    }

    /// Every place of a `caBundle` in an object of this kind.
    #[must_use]
    pub fn places(self, object: &Value) -> Vec<Place<'_>> {
        let only = |pointer: &str| {
            let config = object.pointer(pointer);
            config
                .map(|config| Place { pointer: pointer.to_owned(), config, name: None })
                .into_iter()
                .collect()
        };
        match self {
            Self::Mutating | Self::Validating => {
                let webhooks = object.get("webhooks").and_then(Value::as_array).into_iter().flatten();
                webhooks.enumerate().filter_map(|(index, webhook)| Place::in_list(index, webhook)).collect()
            }
            Self::CustomResource => only("/spec/conversion/webhook/clientConfig"),
            Self::ApiService => only("/spec"),
        }
    }
}

impl RegistrationName {
    /// The path of the object on the API server.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", DynamicObject::url_path(&self.kind.resource(), None), self.name)
    }
}

impl<'a> Place<'a> {
    fn in_list(index: usize, webhook: &'a Value) -> Option<Self> {
        let (name, config) = (webhook.get("name")?.as_str()?, webhook.get("clientConfig")?);
        let name = Some((format!("/webhooks/{index}/name"), name));
        Some(Self { pointer: format!("/webhooks/{index}/clientConfig"), config, name })
    }

    /// Namespace and name of the Service that is called.
    #[must_use]
    pub fn service(&self) -> Option<(&str, &str)> {
        let service = self.config.get("service")?;
        Some((service.get("namespace")?.as_str()?, service.get("name")?.as_str()?))
    }

    /// The URL that is called instead.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.config.get("url")?.as_str()
    }

    /// The `caBundle`; empty if there is none.
    #[must_use]
    pub fn bundle(&self) -> Vec<u8> {
        let text = self.config.get("caBundle").cloned();
        text.and_then(|text| serde_json::from_value::<ByteString>(text).ok())
            .map(|bytes| bytes.0)
            .unwrap_or_default()
    }

    /// Its path in `managedFields`.
    pub(crate) fn fields(&self) -> Vec<String> {
        let way = match &self.name {
            Some((_, name)) => {
                let key = serde_json::json!({ "name": name });
                vec!["f:webhooks".to_owned(), format!("k:{key}"), "f:clientConfig".to_owned()]
            }
            None => self.pointer.split('/').skip(1).map(|step| format!("f:{step}")).collect(),
        };
        way.into_iter().chain(["f:caBundle".to_owned()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_path() {
        for (name, path) in [
            ("mutating/a", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/a"),
            ("validating/a", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/a"),
            ("crd/a.example.dev", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.example.dev"),
            ("apiservice/v1.example.dev", "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.dev"),
        ] {
            assert_eq!(name.parse::<RegistrationName>().unwrap().path(), path);
        }
    }
}
