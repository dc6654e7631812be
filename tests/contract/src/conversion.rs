//! Conversions of gadgets between two versions: by types, and as JSON.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vestibule::admission::Unconvertible;
use vestibule::{App, Conversion};

/// `size` is a string.
mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "contract.example", version = "v1", kind = "Gadget", namespaced)]
    pub(crate) struct GadgetSpec {
        pub(crate) size: String,
    }
}

/// `size` is a number.
mod v2 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
    #[kube(group = "contract.example", version = "v2", kind = "Gadget", namespaced)]
    pub(crate) struct GadgetSpec {
        pub(crate) size: u32,
    }
}

pub(crate) fn conversions(app: App) -> App {
    let typed = Conversion::through::<v2::Gadget>().version(to_v2, to_v1);
    app.convert("gadgets", typed).convert("raw-gadgets", Conversion::raw("raws.contract.example", raw))
}

fn to_v2(old: v1::Gadget) -> Result<v2::Gadget, &'static str> {
    let v1::Gadget { metadata, spec } = old;
    match &*spec.size {
        "panic" => panic!("cannot convert {}", serde_json::to_string(&metadata).unwrap_or_default()),
        size => {
            let size = size.parse().map_err(|_| "spec.size is no number")?;
            Ok(v2::Gadget { metadata, spec: v2::GadgetSpec { size } })
        }
    }
}

fn to_v1(new: v2::Gadget) -> Result<v1::Gadget, &'static str> {
    let v2::Gadget { metadata, spec } = new;
    Ok(v1::Gadget { metadata, spec: v1::GadgetSpec { size: spec.size.to_string() } })
}

fn raw(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    let mut object: serde_json::Value =
        serde_json::from_str(object.get()).map_err(|_| Unconvertible::new("it is no object"))?;
    let size = &mut object["spec"]["size"];
    *size = match (&*size, desired) {
        (serde_json::Value::String(size), "contract.example/v2") => {
            size.parse::<u32>().map_err(|_| Unconvertible::new("spec.size is no number"))?.into()
        }
        (serde_json::Value::Number(size), "contract.example/v1") => size.to_string().into(),
        _ => return Err(Unconvertible::new("its version is unknown")),
    };
    object["apiVersion"] = desired.into();
    serde_json::value::to_raw_value(&object).map_err(Unconvertible::new)
}
