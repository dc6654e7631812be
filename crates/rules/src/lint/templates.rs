//! Placeholders of other template languages, which rules do not replace.

use super::LintedRule;
use crate::diagnostic::{Diagnostic, TEMPLATE_TEXT, printable_short};
use crate::yaml::{Node, Value};

/// The names in expressions: `${NAME.` was probably meant to be an expression.
const NAMES: [&str; 7] =
    ["params", "variables", "object", "oldObject", "owner", "request", "namespaceObject"];

/// Words between `{{` and `}}` in a Helm chart, or in a misplaced expression. Other words may belong to a template
/// that the container itself reads.
const OF_HELM: [&str; 8] =
    [".Values", ".Release", ".Chart", ".Capabilities", ".Files", "include ", "params.", "variables."];

/// The maximum length in bytes of a placeholder.
const LONGEST: usize = 200;

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    for entry in linted.spec.as_map().unwrap_or_default() {
        // Both contain expressions.
        if !matches!(entry.key.as_str(), "matchConditions" | "variables") {
            walk(linted, &entry.value, findings);
        }
    }
}

// Recursion is bounded by the depth of the document.
fn walk(linted: &LintedRule<'_>, node: &Node, findings: &mut Vec<Diagnostic>) {
    match node.value() {
        Value::Scalar(scalar) => findings.extend(template(scalar.text()).map(|(what, meant)| {
            let message = format!("`{}` is not replaced: rules are not templates", printable_short(&what));
            let help = match meant {
                Some(meant) => format!("an expression replaces the whole value: `{{$cel: {meant}}}`"),
                None => "render the file first, for example by `helm template`; for values that users set, declare `parameters` and write `{$cel: params.NAME}` in place of a value".to_owned(),
            };
            linted.finding(&TEMPLATE_TEXT, node.at(), message, &help)
        })),
        Value::List(items) => items.iter().for_each(|item| walk(linted, item, findings)),
        Value::Map(entries) => {
            let others = entries.iter().filter(|entry| entry.key != "$cel");
            others.for_each(|entry| walk(linted, &entry.value, findings));
        }
    }
}

/// The first placeholder in `text`, and the expression that was probably meant.
fn template(text: &str) -> Option<(String, Option<String>)> {
    between(text, "${", "}", |inner| {
        let name = inner.split(['.', '[']).next().unwrap_or_default();
        name.len() < inner.len() && NAMES.contains(&name)
    })
    .map(|inner| (format!("${{{inner}}}"), Some(inner.to_owned())))
    .or_else(|| {
        let inner = between(text, "{{", "}}", |inner| OF_HELM.iter().any(|word| inner.contains(word)))?;
        let trimmed = inner.trim_matches(|c: char| c == '-' || c.is_whitespace());
        let meant = NAMES.iter().any(|name| trimmed.starts_with(&format!("{name}.")));
        Some((format!("{{{{{inner}}}}}"), meant.then(|| trimmed.to_owned())))
    })
}

/// The first text between `open` and `close` for which `counts` is true.
fn between<'t>(text: &'t str, open: &str, close: &str, counts: impl Fn(&str) -> bool) -> Option<&'t str> {
    let parts = text.split(open).skip(1).filter_map(|part| part.split_once(close));
    parts.map(|(inner, _)| inner).find(|inner| inner.len() <= LONGEST && counts(inner))
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn only_placeholders_of_known_template_languages_are_found() {
        for (text, meant) in [
            ("http://x:${params.port}/", Some("params.port")),
            ("${HOME}${object.metadata.name}", Some("object.metadata.name")),
            ("{{ params.port }}", Some("params.port")),
            ("{{- .Values.port -}}", None),
            ("a {{ include \"x\" . }} b", None),
        ] {
            assert_eq!(template(text).expect(text).1.as_deref(), meant, "{text}");
        }
        for text in [
            "${HOME}",
            "${params}",
            "{{ .Name }}",
            "{{ with secret \"x\" }}",
            "$(params.port)",
            "${params.x",
            "",
        ] {
            assert!(template(text).is_none(), "{text}");
        }
    }
}
