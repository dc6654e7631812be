//! The address at which the API server calls a webhook.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as extensions;
use vestibule_identity::NamespacedName;

use crate::registration::name::is_dns_label;

/// The address at which the API server calls a webhook: a Service of the cluster, or a URL, such as that of a laptop.
///
/// ```
/// use vestibule::Target;
///
/// assert_eq!(Target::service("shop/hook")?.dns_names()[0], "hook.shop.svc");
/// assert_eq!(Target::url("https://127.0.0.1:10250")?.to_string(), "https://127.0.0.1:10250");
/// # Ok::<(), vestibule::TargetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Service; its namespace is the webhook's own.
    Service {
        /// The Service's namespace.
        namespace: String,
        /// The Service's name.
        name: String,
        /// A port of the Service.
        port: u16,
    },
    /// `https://HOST:PORT`, without a path.
    Url(String),
}

/// A text that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Not of the form `NAMESPACE/NAME`.
    #[error(
        "`{0}` names no Service: write NAMESPACE/NAME in small letters, digits and `-`, or NAMESPACE/NAME:PORT where \
         the port is not 443"
    )]
    Service(String),
    /// Not of the form `https://HOST:PORT`. The API server refuses user info, queries and fragments.
    #[error("`{0}` is no webhook URL: write https://HOST:PORT")]
    Url(String),
}

impl Target {
    /// Reads `NAMESPACE/NAME`, or `NAMESPACE/NAME:PORT` where the Service's port is not 443.
    ///
    /// # Errors
    /// The text has another form.
    pub fn service(text: &str) -> Result<Self, TargetError> {
        Self::service_in(text, None)
    }

    /// Like [`Target::service`], with `namespace` for a bare `NAME` or `NAME:PORT`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn service_in(text: &str, namespace: Option<&str>) -> Result<Self, TargetError> {
        let text = match namespace {
            Some(namespace) if !text.contains('/') => format!("{namespace}/{text}"),
            _ => text.to_owned(),
        };
        let wrong = || TargetError::Service(text.clone());
        let (namespace, rest) = text.split_once('/').ok_or_else(wrong)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| wrong())?),
            None => (rest, 443),
        };
        if !is_dns_label(namespace) || !is_dns_label(name) || port == 0 {
            return Err(wrong());
        }
        Ok(Self::Service { namespace: namespace.to_owned(), name: name.to_owned(), port })
    }

    /// Reads `https://HOST:PORT`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn url(text: &str) -> Result<Self, TargetError> {
        let wrong = || TargetError::Url(text.to_owned());
        let uri = Uri::from_str(text).map_err(|_| wrong())?;
        let plain =
            uri.scheme_str() == Some("https") && matches!(uri.path(), "" | "/") && uri.query().is_none();
        let authority = uri.authority().filter(|authority| plain && !authority.as_str().contains('@'));
        let authority = authority.ok_or_else(wrong)?;
        // `http` takes a port above 65535 for none.
        let has_port = authority.as_str() != authority.host();
        if has_port && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(wrong());
        }
        Ok(Self::Url(format!("https://{authority}")))
    }

    /// The names that the serving certificate must have for the API server to accept it.
    pub fn dns_names(&self) -> Vec<String> {
        match self {
            Self::Service { .. } => {
                let service = self.service_name().into_iter();
                service.flat_map(|service| service.dns_names("cluster.local")).collect()
            }
            Self::Url(url) => {
                let host = Uri::from_str(url).ok().and_then(|uri| uri.host().map(str::to_owned));
                host.map(|host| host.trim_matches(['[', ']']).to_owned()).into_iter().collect()
            }
        }
    }

    /// The namespace of the webhook, if the target is a Service.
    pub fn own_namespace(&self) -> Option<&str> {
        match self {
            Self::Service { namespace, .. } => Some(namespace),
            Self::Url(_) => None,
        }
    }

    /// The Service, if the target is one.
    pub fn service_name(&self) -> Option<NamespacedName> {
        match self {
            Self::Service { namespace, name, .. } => {
                Some(NamespacedName { namespace: namespace.clone(), name: name.clone() })
            }
            Self::Url(_) => None,
        }
    }

    pub(crate) fn client_config(&self, path: &str, ca_bundle: &str) -> WebhookClientConfig {
        let ca_bundle = Some(ByteString(ca_bundle.into())).filter(|bundle| !bundle.0.is_empty());
        match self {
            Self::Service { namespace, name, port } => WebhookClientConfig {
                ca_bundle,
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(i32::from(*port)),
                }),
                url: None,
            },
            Self::Url(url) => {
                WebhookClientConfig { ca_bundle, service: None, url: Some(format!("{url}{path}")) }
            }
        }
    }

    /// Like [`Target::client_config`], for the conversion of a custom resource: k8s-openapi has separate types for it.
    pub(crate) fn conversion(&self, path: &str, ca_bundle: &str) -> extensions::WebhookConversion {
        let WebhookClientConfig { ca_bundle, service, url } = self.client_config(path, ca_bundle);
        let service = service.map(|ServiceReference { namespace, name, path, port }| {
            extensions::ServiceReference { namespace, name, path, port }
        });
        extensions::WebhookConversion {
            client_config: Some(extensions::WebhookClientConfig { ca_bundle, service, url }),
            conversion_review_versions: vec!["v1".to_owned()],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service { namespace, name, port } => write!(formatter, "{namespace}/{name}:{port}"),
            Self::Url(url) => formatter.write_str(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_urls_are_read() {
        let service = Target::service("shop/hook").unwrap();
        assert_eq!(service.to_string(), "shop/hook:443");
        assert_eq!(service.dns_names(), ["hook.shop.svc", "hook.shop.svc.cluster.local"]);
        assert_eq!(Target::service("shop/hook:8443").unwrap().to_string(), "shop/hook:8443");
        assert_eq!(Target::service_in("hook:8443", Some("shop")).unwrap().to_string(), "shop/hook:8443");
        assert_eq!(Target::service_in("a/hook", Some("shop")).unwrap().to_string(), "a/hook:443");
        let url = Target::url("https://127.0.0.1:8443/").unwrap();
        assert_eq!(url.to_string(), "https://127.0.0.1:8443");
        assert_eq!(url.dns_names(), ["127.0.0.1"]);
        assert_eq!(Target::url("https://[::1]:8443").unwrap().dns_names(), ["::1"]);
    }

    #[test]
    fn targets_that_the_api_server_refuses_are_refused() {
        for text in ["hook", "Shop/hook", "shop/", "shop/hook:x", "shop/hook:0", "a/b/c"] {
            assert!(Target::service(text).is_err(), "{text}");
        }
        let error = Target::service_in("hook", Some("Shop")).unwrap_err().to_string();
        assert!(error.starts_with("`Shop/hook` names no Service"), "{error}");
        for text in [
            "http://a",
            "https://a/path",
            "https://a?x=y",
            "https://u@a",
            "https://a:65536",
            "https://a:0",
            "https://[::1]:",
            "a",
            "https://",
        ] {
            assert!(Target::url(text).is_err(), "{text}");
        }
    }
}
