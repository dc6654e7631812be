//! Findings as JSON and SARIF. Like headlines, they contain no source line, because the log of a pipeline must not
//! contain the author's values.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{Code, Diagnostic, Position, Severity};
use crate::well_known::CustomResource;

/// The findings as a JSON array, in their order: `code`, `severity`, `source`, `line`, `column`, `message`, `help`. A finding about
/// an object of the cluster has a `field` in the place of `line` and `column`.
///
/// ```
/// let findings = vestibule_rules::yaml::read("pod.yaml", "kind: Pod\nkind: Job\n").err().unwrap();
/// let json = vestibule_rules::diagnostic::json(&findings);
/// assert!(json.contains(r#""code":"VST0102""#) && json.contains(r#""line":2"#));
/// ```
pub fn json(findings: &[Diagnostic]) -> String {
    let finding = |finding: &Diagnostic| {
        let mut object = json!({
            "code": finding.code().id,
            "severity": finding.severity().as_str(),
            "source": finding.source(),
            "message": finding.message(),
        });
        if CustomResource::is_source(finding.source()) {
            object["field"] = finding.field().0.into();
        } else {
            let Position { line, column } = finding.position();
            object["line"] = line.into();
            object["column"] = column.into();
        }
        if let Some(help) = finding.help() {
            object["help"] = help.into();
        }
        object
    };
    Value::Array(findings.iter().map(finding).collect()).to_string()
}

/// The findings as a SARIF 2.1.0 log, which code hosts show beside the lines of a change. The log describes the codes
/// that occur. A source that is a relative path becomes a relative reference. A value of a ConfigMap with lines of its own, `FILE, key
/// KEY`, is in no file by this name: its findings are at the first line of `FILE`, and their messages have the key and the line.
pub fn sarif(findings: &[Diagnostic]) -> String {
    let codes: BTreeMap<&str, &Code> =
        findings.iter().map(|finding| (finding.code().id, finding.code())).collect();
    let rules: Vec<Value> = codes.values().map(|code| rule(code)).collect();
    let place = |code: &Code| codes.keys().position(|id| *id == code.id);
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, place(finding.code()))).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {"name": "vestibule", "version": env!("CARGO_PKG_VERSION"), "rules": rules},
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
    .to_string()
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.explanation()},
        "help": {"text": format!("{}\n\n`vestibule explain {}` says this offline.", code.explanation(), code.id)},
    })
}

fn result(finding: &Diagnostic, place: Option<usize>) -> Value {
    let level = match finding.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    };
    let mut text = match finding.help() {
        Some(help) => format!("{}; {help}", finding.message()),
        None => finding.message().to_owned(),
    };
    let (mut file, mut at) = (finding.source(), finding.position());
    if let Some((manifest, key)) = file.rsplit_once(", key ").filter(|(_, key)| !key.contains('/')) {
        text = format!("key {key}, line {}: {text}", at.line);
        // Code hosts show no result without a line.
        (file, at) = (manifest, Position { line: 1, column: 1 });
    }
    json!({
        "ruleId": finding.code().id,
        "ruleIndex": place,
        "level": level,
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": uri(file)},
                "region": {"startLine": at.line, "startColumn": at.column},
            },
        }],
    })
}

/// All characters that a path has to encode (RFC 3986).
const RESERVED_IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// A path as a URI reference.
fn uri(name: &str) -> String {
    let path = name.strip_prefix("./").unwrap_or(name);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, RESERVED_IN_PATHS))
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri("./rules/a b.yaml"), "rules/a%20b.yaml");
        assert_eq!(uri("/etc/rules.yaml"), "file:///etc/rules.yaml");
        assert_eq!(uri("a, \u{e4}"), "a%2C%20%C3%A4");
    }
}
