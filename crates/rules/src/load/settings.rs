//! Reads `InjectorSettings`.

use std::sync::Arc;

use super::injection::name;
use super::reader::Reader;
use crate::diagnostic::{EMPTY_EXEMPTION, RENAMED};
use crate::format::{self, chosen};
use crate::namespaced::NamespacedBounds;
use crate::settings::{Exemption, Settings};
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
        namespaced: spec.get("namespacedInjections").map(|node| namespaced_injections(reader, node)),
    }
}

fn namespaced_injections(reader: &mut Reader, node: &Node) -> NamespacedBounds {
    reader.fields(node, &format::NAMESPACED_INJECTIONS);
    let words = node.texts("allowedParts");
    let allowed = format::ALLOWED_PARTS.iter().filter(|(word, _)| words.iter().any(|one| one == word));
    let max_rules = node.integer("maxRulesPerNamespace").and_then(|number| number.try_into().ok());
    NamespacedBounds {
        allowed: allowed.map(|(word, ())| *word).collect(),
        max_rules: max_rules.unwrap_or(10),
    }
}

fn exemption(reader: &mut Reader, node: &Node) -> Exemption {
    reader.fields(node, &format::EXEMPTION);
    let exemption = Exemption {
        namespaces: reader.label_selector(node.get("namespaceSelector"), node.at()),
        objects: reader.label_selector(node.get("objectSelector"), node.at()),
        users: node.texts("users"),
        reason: node.text("reason").unwrap_or_default().to_owned(),
        source: Arc::clone(&reader.source.name),
        at: node.at(),
    };
    let unconditional = exemption.users.is_empty()
        && exemption.namespaces.requirements().is_empty()
        && exemption.objects.requirements().is_empty();
    let renamed = reader.findings.iter().any(|finding| finding.code() == &RENAMED);
    if unconditional && !renamed && node.as_map().is_some() {
        let help = "to switch the injector off, set `mode: \"off\"`";
        let message = "this exemption has no condition, so nothing would be injected at all";
        reader.error(&EMPTY_EXEMPTION, node.at(), message, help);
    }
    exemption
}
