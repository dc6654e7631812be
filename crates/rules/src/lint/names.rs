//! Names that a rule gives and does not use, or takes away and uses.

use super::{Page, text};
use crate::diagnostic::{self, Diagnostic};
use crate::yaml::{Node, Value};

pub(super) fn lint(page: &Page<'_>, findings: &mut Vec<Diagnostic>) {
    for (field, prefix, code, what) in [
        ("parameters", "params", &diagnostic::UNUSED, "parameter"),
        ("variables", "variables", &diagnostic::UNUSED, "variable"),
    ] {
        for declared in page.list(field) {
            let Some((node, name)) = declared.get("name").and_then(|node| Some((node, node.as_text()?)))
            else {
                continue;
            };
            if !mentions(page.spec, prefix, name) {
                let message = format!("{what} `{name}` is never used");
                let help = format!("expressions read it as `{prefix}.{name}`; take it away otherwise");
                findings.push(page.hint(code, node.at(), message, &help));
            }
        }
    }
    for removal in page.list("remove") {
        let Some(name) = removal.get("volumes").and_then(|volume| text(volume, "name")) else { continue };
        if let Some(mount) = mount_of(page, name) {
            let message = format!("volume `{name}` is removed and mounted by the same rule");
            findings.push(page.warning(
                &diagnostic::REMOVED_IN_USE,
                mount.at(),
                message,
                "keep the volume, or mount another",
            ));
        }
    }
}

/// A mount of the volume in what the rule brings or adds.
fn mount_of<'p>(page: &'p Page<'_>, volume: &str) -> Option<&'p Node> {
    let mounts = page.all_containers().filter_map(|container| container.get("volumeMounts"));
    mounts.filter_map(Node::as_list).flatten().find(|mount| text(mount, "name") == Some(volume))
}

/// Whether some text in `node` reads `prefix.name` or `prefix['name']`. What cannot be told apart from it counts.
fn mentions(node: &Node, prefix: &str, name: &str) -> bool {
    match node.value() {
        Value::Scalar(scalar) => reads(scalar.text(), prefix, name),
        Value::List(items) => items.iter().any(|item| mentions(item, prefix, name)),
        Value::Map(entries) => entries.iter().any(|entry| mentions(&entry.value, prefix, name)),
    }
}

fn reads(text: &str, prefix: &str, name: &str) -> bool {
    text.match_indices(prefix).any(|(at, _)| {
        let after = text.get(at + prefix.len()..).unwrap_or_default();
        let after = after.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
        after
            .strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
