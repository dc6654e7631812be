//! The custom resource: the address of a server. `v1` has one field for it, `v2` has two.

use kube::api::ApiResource;
use kube::core::object::{NotUsed, Object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Its group.
pub const GROUP: &str = "example.dev";
/// The name of its definition.
pub const CRD: &str = "widgets.example.dev";

/// A widget as `v2` has it, the version that is stored and that the operator works with.
pub type Widget = Object<WidgetSpec, NotUsed>;

/// The address of the server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct WidgetSpec {
    /// A DNS name or an address.
    pub host: String,
    /// A TCP port.
    pub port: u16,
}

/// The API resource in this version.
#[must_use]
pub fn resource(version: &str) -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: version.to_owned(),
        api_version: format!("{GROUP}/{version}"),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    }
}

/// Converts the object to another version; other fields do not change.
///
/// # Errors
/// A message about an unknown version or spec.
pub fn convert(mut object: Value, desired: &str) -> Result<Value, String> {
    let current = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let spec = &object["spec"];
    let converted = match (version(&current)?, version(desired)?) {
        (1, 2) => {
            let address = spec["address"].as_str().and_then(|address| address.rsplit_once(':'));
            let (host, port) = address.ok_or("spec.address is not HOST:PORT")?;
            let port: u16 = port.parse().map_err(|_| "the port of spec.address is none")?;
            json!({ "host": host, "port": port })
        }
        (2, 1) => {
            let host = spec["host"].as_str().ok_or("spec.host is missing")?;
            let port = spec["port"].as_u64().ok_or("spec.port is missing")?;
            json!({ "address": format!("{host}:{port}") })
        }
        _ => spec.clone(),
    };
    object["spec"] = converted;
    object["apiVersion"] = desired.into();
    Ok(object)
}

fn version(api_version: &str) -> Result<u8, String> {
    match api_version.strip_prefix(GROUP) {
        Some("/v1") => Ok(1),
        Some("/v2") => Ok(2),
        _ => Err(format!("`{api_version}` is no version of a widget")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converting_there_and_back_gives_the_same_object() {
        let v1 = json!({
            "apiVersion": "example.dev/v1", "kind": "Widget", "metadata": { "name": "a" },
            "spec": { "address": "example.org:8080" },
        });
        let v2 = convert(v1.clone(), "example.dev/v2").unwrap();
        assert_eq!(v2["spec"], json!({ "host": "example.org", "port": 8080 }));
        assert_eq!(v2["metadata"], v1["metadata"]);
        assert_eq!(convert(v2.clone(), "example.dev/v2"), Ok(v2.clone()));
        assert_eq!(convert(v2, "example.dev/v1"), Ok(v1));
    }

    #[test]
    fn the_error_of_a_conversion_gives_the_reason() {
        for (spec, to, part) in [
            (json!({ "address": "example.org" }), "example.dev/v2", "HOST:PORT"),
            (json!({ "address": "example.org:x" }), "example.dev/v2", "port"),
            (json!({}), "example.dev/v2", "HOST:PORT"),
            (json!({ "address": "a:1" }), "example.dev/v3", "example.dev/v3"),
        ] {
            let object = json!({ "apiVersion": "example.dev/v1", "spec": spec });
            let error = convert(object, to).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
