//! Names that a rule declares and does not use, or removes and uses.

use super::LintedRule;
use super::conflicts::may_apply_to_one_object;
use super::containers::{commands, references};
use crate::diagnostic::{Diagnostic, REMOVED_IN_USE, UNUSED};
use crate::yaml::{Node, Value};

const KEEP_VOLUME: &str = "keep the volume, or use another";

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    for (field, prefix, what) in
        [("parameters", "params", "parameter"), ("variables", "variables", "variable")]
    {
        for declared in linted.spec.items(field) {
            let Some((node, name)) = declared.get("name").and_then(|node| Some((node, node.as_text()?)))
            else {
                continue;
            };
            if !mentions(linted.spec, prefix, name) {
                let message = format!("{what} `{name}` is never used");
                let help = format!("expressions read it as `{prefix}.{name}`; if none needs it, remove it");
                findings.push(linted.finding(&UNUSED, node.at(), message, &help));
            }
        }
    }
    for removal in linted.spec.items("remove") {
        if let Some(name) = removal.get("volumes").and_then(|volume| volume.text("name"))
            && let Some(used) = use_of(linted, name)
        {
            let message = format!("volume `{name}` is removed and used by the same rule");
            findings.push(linted.finding(&REMOVED_IN_USE, used.at(), message, KEEP_VOLUME));
        }
        findings.extend(removal.get("env").and_then(|env| variable_in_use(linted, env)));
    }
}

/// Volumes that one rule removes and another rule uses.
pub(super) fn between_rules(rules: &[LintedRule<'_>], findings: &mut Vec<Diagnostic>) {
    for linted in rules {
        for name in
            linted.spec.items("remove").iter().filter_map(|removal| removal.get("volumes")?.text("name"))
        {
            for other in rules.iter().filter(|other| other.rule.name != linted.rule.name) {
                if let Some(used) =
                    use_of(other, name).filter(|_| may_apply_to_one_object(linted.rule, other.rule))
                {
                    let message = format!("volume `{name}` is removed by rule `{}`", linted.rule.name);
                    let found = other.finding(&REMOVED_IN_USE, used.at(), message, KEEP_VOLUME);
                    findings.push(found);
                }
            }
        }
    }
}

/// A value in a block for existing containers that still reads a variable which the rule removes from them. Injected
/// containers have their own variables.
fn variable_in_use<'b>(linted: &'b LintedRule<'b>, removed: &Node) -> Option<Diagnostic> {
    let name = removed.text("name")?;
    let is_elsewhere = |block: &&Node| {
        let names = |node: Option<&Node>| {
            let names = node.and_then(Node::as_list)?.iter().filter_map(Node::as_text);
            Some(names.map(str::to_owned).collect::<Vec<_>>())
        };
        let there = names(block.find(&["select", "names"]));
        let here = names(removed.get("containers"));
        here.zip(there).is_some_and(|(here, there)| !here.iter().any(|name| there.contains(name)))
    };
    let blocks = linted.spec.items("containerPatches").iter().filter(|block| !is_elsewhere(block));
    let values_of = |block: &'b Node| block.items("env").iter().filter_map(|variable| variable.get("value"));
    let mut values = blocks.flat_map(|block| values_of(block).chain(commands(block)));
    let reads = |node: &&Node| node.as_text().is_some_and(|text| references(text).contains(&name));
    let at = values.find(reads)?.at();
    let message = format!("variable `{name}` is removed by the same rule: `$({name})` stays as it is");
    Some(linted.finding(&REMOVED_IN_USE, at, message, "keep the variable, or read another"))
}

/// The lists of a container whose items use volumes, each with the path to the name of the volume.
const USES: [(&str, &[&str]); 3] = [
    ("env", &["valueFrom", "fileKeyRef", "volumeName"]),
    ("volumeDevices", &["name"]),
    ("volumeMounts", &["name"]),
];

/// The first use of the volume in the containers and blocks of the rule.
fn use_of<'p>(linted: &'p LintedRule<'_>, volume: &str) -> Option<&'p Node> {
    let uses = |container: &'p Node, (list, name): (&str, &'static [&str])| {
        container.items(list).iter().find(|item| item.find(name).and_then(Node::as_text) == Some(volume))
    };
    linted.all_containers().find_map(|container| USES.into_iter().find_map(|list| uses(container, list)))
}

/// Whether some text in `node` reads `prefix.name` or `prefix['name']`. Text that looks like it counts too.
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
