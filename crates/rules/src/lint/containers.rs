//! Injected containers, and references to variables.

use std::collections::HashSet;

use super::{LintedRule, name_of};
use crate::diagnostic::{Diagnostic, FLOATING_IMAGE, NO_REQUESTS, NO_STARTUP_PROBE, Severity, UNRESOLVED};
use crate::syntax::variable_references;
use crate::yaml::Node;

const DEFINE_VARIABLE: &str = "define the variable above, or write `$$(` for the text itself";

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    for (field, container) in linted.injected() {
        findings.extend(missing_requests(linted, container));
        findings.extend(floating_image(linted, container));
        if field == "sidecars" {
            findings.extend(missing_startup_probe(linted, container));
        }
        unresolved(linted, container, findings);
    }
    unresolved_in_blocks(linted, findings);
}

fn missing_requests(linted: &LintedRule<'_>, container: &Node) -> Option<Diagnostic> {
    let resources = container.get("resources");
    if resources.is_some_and(|resources| {
        ["requests", "limits", "$cel"].iter().any(|group| resources.get(group).is_some())
    }) {
        return None;
    }
    let message = format!("container `{}` requests no resources", name_of(container));
    let help = "a quota of the namespace may refuse the pod; write `resources: {requests: {cpu: 10m, memory: 32Mi}}`";
    Some(linted.finding(&NO_REQUESTS, container.at(), message, help))
}

fn floating_image(linted: &LintedRule<'_>, container: &Node) -> Option<Diagnostic> {
    let node = container.get("image")?;
    let image = node.as_text()?;
    let last = image.rsplit('/').next().unwrap_or(image);
    let pinned = last.contains('@') || last.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    let message = format!("`{image}` has no fixed version");
    let help = "name a version, or better a digest";
    // The image is not known if an expression or the kubelet completes it.
    let literal = !image.contains('$');
    (literal && !pinned).then(|| linted.finding(&FLOATING_IMAGE, node.at(), message, help))
}

/// The kubelet starts the next container when the startup probe succeeds. A sidecar without a port may need one as
/// well, for example if it writes a secret into a file.
fn missing_startup_probe(linted: &LintedRule<'_>, container: &Node) -> Option<Diagnostic> {
    let regular = container.text("mode") == Some("regular");
    let hook = container.find(&["lifecycle", "postStart"]);
    if regular || hook.is_some() || container.get("startupProbe").is_some() {
        return None;
    }
    let message = format!("the application does not wait until `{}` is ready", name_of(container));
    let help = "with a `startupProbe`, the application starts after the sidecar answers instead of after its process has started";
    Some(linted.finding(&NO_STARTUP_PROBE, container.at(), message, help))
}

/// `$(X)` in an injected container: only the rule itself defines variables of this container, unless it has
/// `envFrom`.
fn unresolved(linted: &LintedRule<'_>, container: &Node, findings: &mut Vec<Diagnostic>) {
    if container.get("envFrom").is_some() {
        return;
    }
    let mut known = HashSet::new();
    for variable in container.items("env") {
        if let Some(value) = variable.get("value") {
            findings.extend(unknown_names(value, &known).map(|name| unresolved_warning(linted, value, name)));
        }
        known.extend(variable.text("name"));
    }
    for value in commands(container) {
        findings.extend(unknown_names(value, &known).map(|name| unresolved_warning(linted, value, name)));
    }
}

/// A `$(X)` in a block for existing containers. The containers may define X themselves, so `$(X)` is certainly unresolved only if
/// the block defines X further down: a block keeps the order of its variables, and variables of other blocks come before them.
fn unresolved_in_blocks(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    let blocks = linted.spec.items("containerPatches");
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.get("envFrom").is_none()) {
        let others = blocks.iter().enumerate().filter(|(other, _)| *other != index);
        let mut known: HashSet<&str> = others.flat_map(|(_, other)| variable_names(other)).collect();
        let own: HashSet<&str> = variable_names(block).collect();
        for variable in block.items("env") {
            let name = variable.text("name");
            if let Some(value) = variable.get("value") {
                findings.extend(unknown_names(value, &known).map(|used| {
                    match own.contains(used) && name != Some(used) {
                        true => unresolved_warning(linted, value, used),
                        false => unresolved_hint(linted, value, used),
                    }
                }));
            }
            known.extend(name);
        }
        for value in commands(block) {
            findings.extend(unknown_names(value, &known).map(|name| unresolved_hint(linted, value, name)));
        }
    }
}

/// The items of `command` and `args`, in which the kubelet expands variables too.
pub(super) fn commands(container: &Node) -> impl Iterator<Item = &Node> {
    ["command", "args"].into_iter().flat_map(|field| container.items(field))
}

/// The names in `value` that are not `known`.
fn unknown_names<'n>(value: &'n Node, known: &HashSet<&str>) -> impl Iterator<Item = &'n str> {
    references(value.as_text().unwrap_or_default()).into_iter().filter(|name| !known.contains(name))
}

/// The names of the variables of a block.
fn variable_names(block: &Node) -> impl Iterator<Item = &str> {
    block.items("env").iter().filter_map(|variable| variable.text("name"))
}

fn unresolved_warning(linted: &LintedRule<'_>, value: &Node, name: &str) -> Diagnostic {
    let message = format!("`$({name})` stays as it is: no variable before it has this name");
    linted.finding(&UNRESOLVED, value.at(), message, DEFINE_VARIABLE)
}

fn unresolved_hint(linted: &LintedRule<'_>, value: &Node, name: &str) -> Diagnostic {
    let message =
        format!("`$({name})` stays as it is in containers without a variable `{name}` of their own");
    linted.finding(&UNRESOLVED, value.at(), message, DEFINE_VARIABLE).with_severity(Severity::Hint)
}

/// The names of the variables that `text` refers to.
pub(super) fn references(text: &str) -> Vec<&str> {
    // Anything but a name is probably a shell's `$(command)`.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let mut names = variable_references(text);
    names.retain(|name| !name.is_empty() && name.bytes().all(is_name));
    names
}

#[cfg(test)]
mod tests {
    use super::references;

    #[test]
    fn references_are_read_as_the_kubelet_reads_them() {
        assert_eq!(references("$(A) $$(B) $$$(C) $(D $(E)"), ["A", "C"]);
        assert_eq!(references("x$(cat /etc/x)y$(F.g-1)$"), ["F.g-1"]);
    }
}
