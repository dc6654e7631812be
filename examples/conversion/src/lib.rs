//! Mirrors in three versions: `v3` is the hub.

use vestibule::{App, Conversion};

/// `v2` has no field for it.
const TLS: &str = "example.dev/tls";

/// One URL for everything.
pub mod v1 {
    use super::derives::*;

    /// The address to copy from.
    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.dev", version = "v1", kind = "Mirror", namespaced)]
    pub struct MirrorSpec {
        /// `http://HOST:PORT` or `https://HOST:PORT`
        pub url: String,
    }
}

/// Host and port. An annotation says whether TLS is used.
pub mod v2 {
    use super::derives::*;

    /// The address to copy from.
    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.dev", version = "v2", kind = "Mirror", namespaced)]
    pub struct MirrorSpec {
        /// A name or an address.
        pub host: String,
        /// A TCP port.
        pub port: u16,
    }
}

/// Host, port and TLS as separate fields.
pub mod v3 {
    use super::derives::*;

    /// The address to copy from.
    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "example.dev", version = "v3", kind = "Mirror", namespaced)]
    pub struct MirrorSpec {
        /// A name or an address.
        pub host: String,
        /// A TCP port.
        pub port: u16,
        /// Whether TLS is used.
        #[serde(default)]
        pub tls: bool,
    }
}

mod derives {
    pub(super) use kube::CustomResource;
    pub(super) use schemars::JsonSchema;
    pub(super) use serde::{Deserialize, Serialize};
}

/// The webhook: `v1` and `v2` are converted by way of `v3`.
pub fn app() -> App {
    let mirrors = Conversion::through::<v3::Mirror>().version(from_v1, to_v1).version(from_v2, to_v2);
    App::new("mirrors").convert("mirrors", mirrors)
}

fn from_v1(old: v1::Mirror) -> Result<v3::Mirror, &'static str> {
    let (scheme, rest) = old.spec.url.split_once("://").ok_or("spec.url is no URL")?;
    let tls = match scheme {
        "http" => false,
        "https" => true,
        _ => return Err("spec.url is neither http nor https"),
    };
    let (host, port) = rest.rsplit_once(':').ok_or("spec.url names no port")?;
    let port = port.parse().map_err(|_| "the port of spec.url is none")?;
    Ok(v3::Mirror { metadata: old.metadata, spec: v3::MirrorSpec { host: host.to_owned(), port, tls } })
}

fn to_v1(new: v3::Mirror) -> Result<v1::Mirror, &'static str> {
    let v3::MirrorSpec { host, port, tls } = new.spec;
    let scheme = if tls { "https" } else { "http" };
    Ok(v1::Mirror {
        metadata: new.metadata,
        spec: v1::MirrorSpec { url: format!("{scheme}://{host}:{port}") },
    })
}

fn from_v2(mut old: v2::Mirror) -> Result<v3::Mirror, &'static str> {
    let tls = old.metadata.annotations.as_mut().and_then(|annotations| annotations.remove(TLS));
    let v2::MirrorSpec { host, port } = old.spec;
    Ok(v3::Mirror { metadata: old.metadata, spec: v3::MirrorSpec { host, port, tls: tls.is_some() } })
}

fn to_v2(mut new: v3::Mirror) -> Result<v2::Mirror, &'static str> {
    let v3::MirrorSpec { host, port, tls } = new.spec;
    if tls {
        new.metadata.annotations.get_or_insert_default().insert(TLS.to_owned(), "true".to_owned());
    }
    Ok(v2::Mirror { metadata: new.metadata, spec: v2::MirrorSpec { host, port } })
}
