//! Finds rules that a MutatingAdmissionPolicy could replace. Server-side apply merges lists that have keys in the
//! schema, refuses atomic lists, has no `onConflict` per item, and knows no opt-in, rollout or reports.

use vestibule_patch::{List, Schema};

use super::LintedRule;
use crate::diagnostic::{Diagnostic, POLICY_SUFFICES};
use crate::yaml::{Node, Value};

/// The fields of `spec` that a policy can express.
const FIELDS: &[&str] = &["containerPatches", "match", "onConflict", "optIn", "order", "pod", "targets"];

pub(super) fn lint(linted: &LintedRule<'_>, pod: Schema<'_>, findings: &mut Vec<Diagnostic>) {
    // Only the schema says which lists are atomic.
    if pod.fields().is_empty() || !policy_suffices(linted, pod) {
        return;
    }
    let message = format!("a MutatingAdmissionPolicy could do what rule `{}` does", linted.rule.name());
    let help = "from Kubernetes 1.36 on the API server does that without a webhook, but it neither explains nor reports its decisions";
    findings.push(linted.finding(&POLICY_SUFFICES, linted.rule.position(), message, help));
}

fn policy_suffices(linted: &LintedRule<'_>, pod: Schema<'_>) -> bool {
    let fields = linted.spec.as_map().unwrap_or_default();
    let matching = linted.spec.get("match").and_then(Node::as_map).unwrap_or_default();
    let overrides =
        |node: &Node| node.text("onConflict").or(linted.spec.text("onConflict")) == Some("override");
    let container = pod.field("spec").field("containers").item();
    let simple_block = |block: &Node| {
        let select = block.get("select").and_then(Node::as_map);
        let selects_all = matches!(select, Some([only]) if only.key == "all");
        selects_all
            && overrides(block)
            && block.get("replace").is_none()
            && block.as_map().unwrap_or_default().iter().all(|entry| {
                matches!(entry.key.as_str(), "select" | "onConflict")
                    || is_mergeable(&entry.value, container.field(&entry.key))
            })
    };
    let pod_fine = linted.spec.get("pod").is_none_or(|pod_node| {
        overrides(linted.spec)
            && pod_node.get("replace").is_none()
            && pod_node.get("spec").is_none_or(|spec| is_mergeable(spec, pod.field("spec")))
    });
    fields.iter().all(|entry| FIELDS.contains(&entry.key.as_str()))
        && matching.iter().all(|entry| matches!(entry.key.as_str(), "namespaceSelector" | "objectSelector"))
        && matches!(linted.spec.text("optIn"), None | Some("always"))
        && linted.rule.targets().len() == 1
        && !linted.rule.required()
        && linted.spec.items("containerPatches").iter().all(simple_block)
        && pod_fine
}

/// Whether server-side apply accepts the value: it contains no atomic list and no expression.
fn is_mergeable(node: &Node, schema: Schema<'_>) -> bool {
    match node.value() {
        Value::Scalar(_) => true,
        Value::List(items) => {
            matches!(schema.list(), List::Map(_) | List::Set)
                && items.iter().all(|item| is_mergeable(item, schema.item()))
        }
        Value::Map(entries) => entries.iter().all(|entry| {
            // References to ConfigMaps, Secrets and fields are atomic, too.
            let atomic =
                entry.key.starts_with('$') || entry.key == "onConflict" || entry.key.ends_with("Ref");
            !atomic && is_mergeable(&entry.value, schema.field(&entry.key))
        }),
    }
}
