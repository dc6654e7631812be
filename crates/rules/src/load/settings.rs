//! Reads `InjectorSettings`.

use std::sync::Arc;

use super::injection::name;
use super::matching::labels;
use super::reader::Reader;
use crate::diagnostic::EMPTY_EXEMPTION;
use crate::format::{self, chosen};
use crate::settings::{Exemption, Settings};
use crate::syntax;
use crate::yaml::Node;

/// Reads a settings document. `reader` collects the findings.
pub(super) fn settings(reader: &mut Reader, root: &Node) -> Settings {
    reader.fields(root, &format::SETTINGS_DOCUMENT);
    name(reader, root);
    let default = Settings::default();
    let Some(spec) = root.get("spec") else { return default };
    reader.fields(spec, &format::SETTINGS);
    Settings {
        mode: chosen(spec, "mode", &format::INJECTOR_MODES).unwrap_or(default.mode),
        own_namespace: chosen(spec, "ownNamespace", &format::OWN_NAMESPACE).unwrap_or_default(),
        required_everywhere: chosen(spec, "requiredEverywhere", &format::REQUIRED_EVERYWHERE)
            .unwrap_or_default(),
        native_sidecars: spec.flag("nativeSidecars").unwrap_or(default.native_sidecars),
        success_events: spec.flag("successEvents").unwrap_or_default(),
        exemptions: spec.items("exemptions").iter().map(|item| exemption(reader, item)).collect(),
    }
}

fn exemption(reader: &mut Reader, node: &Node) -> Exemption {
    reader.fields(node, &format::EXEMPTION);
    let exemption = Exemption {
        namespaces: node.texts("namespaces"),
        users: node.texts("users"),
        namespace_labels: labels(reader, Some(node), "namespaceLabels", node.at()),
        object_labels: labels(reader, Some(node), "objectLabels", node.at()),
        reason: node.text("reason").unwrap_or_default().to_owned(),
        source: Arc::clone(&reader.source.name),
        at: node.at(),
    };
    for name in &exemption.namespaces {
        reader.check_format(syntax::name(name), "no namespace can have this name", node.at());
    }
    let unconditional = exemption.namespaces.is_empty()
        && exemption.users.is_empty()
        && exemption.namespace_labels.pairs.is_empty()
        && exemption.object_labels.pairs.is_empty();
    if unconditional && node.as_map().is_some() {
        let help = "to switch the injector off, set `mode: off`";
        let message = "this exemption has no condition, so nothing would be injected at all";
        reader.error(&EMPTY_EXEMPTION, node.at(), message, help);
    }
    exemption
}
