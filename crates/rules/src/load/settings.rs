//! Reads `InjectorSettings`.

use std::sync::Arc;

use super::injection::name;
use super::matching::labels;
use super::reader::Reader;
use crate::diagnostic;
use crate::format;
use crate::settings::{Exemption, Settings};
use crate::syntax;
use crate::yaml::Node;

/// Reads a settings document. `reader` collects the findings.
pub(super) fn settings(reader: &mut Reader, root: &Node) -> Settings {
    reader.fields(root, &format::SETTINGS_DOCUMENT);
    name(reader, root);
    let mut settings = Settings::default();
    let Some(spec) = root.get("spec") else { return settings };
    for entry in reader.fields(spec, &format::SETTINGS) {
        let node = &entry.value;
        match entry.key.as_str() {
            "mode" => {
                let mode = reader.word(node, "mode", &format::INJECTOR_MODES);
                settings.mode = mode.unwrap_or(settings.mode);
            }
            "ownNamespace" => {
                let inject = reader.word(node, "ownNamespace", &format::OWN_NAMESPACE);
                settings.own_namespace = inject.unwrap_or_default();
            }
            "requiredEverywhere" => {
                let allow = reader.word(node, "requiredEverywhere", &format::REQUIRED_EVERYWHERE);
                settings.required_everywhere = allow.unwrap_or_default();
            }
            "nativeSidecars" => {
                settings.native_sidecars = reader.boolean(node, "nativeSidecars").unwrap_or(true);
            }
            "successEvents" => {
                settings.success_events = reader.boolean(node, "successEvents").unwrap_or_default();
            }
            "exemptions" => {
                let items = reader.list(node, "exemptions");
                settings.exemptions = items.iter().map(|item| exemption(reader, item)).collect();
            }
            _ => {}
        }
    }
    settings
}

fn exemption(reader: &mut Reader, node: &Node) -> Exemption {
    reader.fields(node, &format::EXEMPTION);
    let texts = |reader: &mut Reader, field: &str| {
        node.get(field).map(|node| reader.texts(node, field)).unwrap_or_default()
    };
    let exemption = Exemption {
        namespaces: texts(reader, "namespaces"),
        users: texts(reader, "users"),
        namespace_labels: labels(reader, Some(node), "namespaceLabels", node.at()),
        object_labels: labels(reader, Some(node), "objectLabels", node.at()),
        reason: node
            .get("reason")
            .and_then(|node| reader.text(node, "reason"))
            .unwrap_or_default()
            .to_owned(),
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
        reader.error_with_help(&diagnostic::EMPTY_EXEMPTION, node.at(), message, help);
    }
    exemption
}
