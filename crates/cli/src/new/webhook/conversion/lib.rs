//! Converts widgets between two versions; start at [`app`].

use vestibule::{App, Conversion};

/// The address in one field.
pub mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// The address of a server.
    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
    #[kube(group = "example.dev", version = "v1", kind = "Widget", namespaced)]
    pub struct WidgetSpec {
        /// `HOST:PORT`
        pub address: String,
    }
}

/// Host and port in two fields.
pub mod v2 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// The address of a server.
    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug, PartialEq, JsonSchema)]
    #[kube(group = "example.dev", version = "v2", kind = "Widget", namespaced)]
    pub struct WidgetSpec {
        /// A name or an address.
        pub host: String,
        /// A TCP port.
        pub port: u16,
    }
}

/// The webhook: `v2` is stored, and `v1` is converted to it and back.
pub fn app() -> App {
    let widgets = Conversion::through::<v2::Widget>().version(v1_to_v2, v2_to_v1);
    App::new("my-converter").convert("widgets", widgets)
}

/// The user reads the error after the name of the object.
fn v1_to_v2(old: v1::Widget) -> Result<v2::Widget, &'static str> {
    let (host, port) = old.spec.address.rsplit_once(':').ok_or("spec.address is not HOST:PORT")?;
    let port = port.parse().map_err(|_| "the port of spec.address is not a number up to 65535")?;
    Ok(v2::Widget { metadata: old.metadata, spec: v2::WidgetSpec { host: host.to_owned(), port } })
}

fn v2_to_v1(new: v2::Widget) -> Result<v1::Widget, &'static str> {
    let v2::WidgetSpec { host, port } = new.spec;
    Ok(v1::Widget { metadata: new.metadata, spec: v1::WidgetSpec { address: format!("{host}:{port}") } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget(address: &str) -> v1::Widget {
        v1::Widget::new("web", v1::WidgetSpec { address: address.to_owned() })
    }

    #[test]
    fn there_and_back_gives_the_same_object() {
        let there = v1_to_v2(widget("[::1]:8080")).unwrap();
        assert_eq!(there.spec, v2::WidgetSpec { host: "[::1]".to_owned(), port: 8080 });
        assert_eq!(v2_to_v1(there).unwrap().spec, widget("[::1]:8080").spec);
    }

    #[test]
    fn an_address_without_a_port_is_refused() {
        assert_eq!(v1_to_v2(widget("example.org")).unwrap_err(), "spec.address is not HOST:PORT");
    }
}
