//! Documents into rules: every problem of every document at once, or a set that can be used.

mod blocks;
pub(crate) mod check;
mod feedback;
mod fragment;
mod injection;
mod items;
mod matching;
mod reader;
mod typed;

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::Schema;

use crate::diagnostic::{self, Diagnostic, Position, Severity, Source};
use crate::rule::Rule;
use crate::yaml;
use injection::injection;
use reader::Reader;

/// A rule, and the text it came from for what is found out later.
struct Loaded {
    rule: Rule,
    source: Arc<Source>,
    /// The labels and annotations of pods that it writes, as (map, key, place).
    writes: Vec<(&'static str, String, Position)>,
}

/// The rules of all `(name, text)` in the order they act in, and the warnings about them.
pub(crate) fn rules<'s>(
    sources: impl IntoIterator<Item = (&'s str, &'s str)>,
    pod: Schema<'_>,
) -> Result<(Vec<Rule>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut loaded = Vec::new();
    let mut findings = Vec::new();
    for (name, text) in sources {
        let (documents, problems) = yaml::read_all(name, text);
        let mut here = problems;
        for document in &documents {
            let mut reader = Reader { source: Arc::clone(document.source_text()), findings: Vec::new() };
            let rule = injection(&mut reader, document.root(), pod);
            here.append(&mut reader.findings);
            loaded.extend(rule.map(|rule| {
                let source = Arc::clone(document.source_text());
                Loaded { writes: writes(&rule), rule, source }
            }));
        }
        here.sort_by_key(Diagnostic::position);
        findings.append(&mut here);
    }
    findings.extend(doubled(&loaded));
    findings.extend(feedback::findings(&loaded));
    if findings.iter().any(|finding| finding.severity() == Severity::Error) {
        return Err(findings);
    }
    let mut rules: Vec<Rule> = loaded.into_iter().map(|loaded| loaded.rule).collect();
    rules.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    Ok((rules, findings))
}

fn writes(rule: &Rule) -> Vec<(&'static str, String, Position)> {
    rule.metadata.iter().map(|entry| (entry.map, entry.item.key.clone(), entry.item.clause.at)).collect()
}

fn doubled(loaded: &[Loaded]) -> Vec<Diagnostic> {
    let mut first: HashMap<&str, &Rule> = HashMap::new();
    let mut findings = Vec::new();
    for Loaded { rule, source, .. } in loaded {
        if let Some(earlier) = first.get(rule.name()) {
            let message =
                format!("rule `{}` exists already, at {}:{}", rule.name, earlier.source, earlier.at);
            findings.push(source.error(&diagnostic::DOUBLED_NAME, rule.at, message));
        } else {
            first.insert(rule.name(), rule);
        }
    }
    findings
}
