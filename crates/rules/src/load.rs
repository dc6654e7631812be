//! Compiles documents into rules, or reports all errors of all documents.

mod anchors;
mod blocks;
mod expressions;
mod feedback;
mod fragment;
mod injected;
mod injection;
mod items;
mod label_selector;
mod matching;
mod parameters;
mod parts;
mod pod_types;
mod reader;
mod removals;
mod security_profile;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::Schema;

use crate::diagnostic::{
    self, DUPLICATE_NAME, DUPLICATE_SETTINGS, Diagnostic, MAX_FINDINGS, Severity, Source,
};
use crate::digest;
use crate::expression::SharedBudget;
use crate::rule::Rule;
use crate::settings::Settings;
use crate::yaml::{self, Text};
use injection::{injection, is_settings};
use reader::Reader;

/// A rule and its source, for findings about several rules.
struct LoadedRule {
    rule: Rule,
    source: Arc<Source>,
}

/// The result of loading all documents.
pub(crate) struct LoadedDocuments {
    /// Rules in the order in which they are evaluated.
    pub(crate) rules: Vec<Rule>,
    pub(crate) settings: Settings,
    pub(crate) warnings: Vec<Diagnostic>,
    /// The short digest of all documents. It does not depend on their order or formatting.
    pub(crate) hash: Arc<str>,
}

/// Loads the documents of all sources.
pub(crate) fn documents<'s>(
    sources: impl IntoIterator<Item = Text<'s>>,
    pod: Schema<'_>,
) -> Result<LoadedDocuments, Vec<Diagnostic>> {
    let mut names = Vec::new();
    let read = sources.into_iter().map(|text| {
        names.push(text.name);
        yaml::read_all(text)
    });
    let read: Vec<_> = read.collect();
    // The settings come first, because they change how rules are read.
    let all = || read.iter().flat_map(|(documents, _)| documents);
    let (settings, settings_findings) = settings_of(all().filter(|document| is_settings(document.root())));
    let mut digests: Vec<String> = all().map(digest_of).collect();
    digests.sort_unstable();
    let hash_of_all = digest::short(digests.iter().filter_map(|whole| whole.get(..digest::SHORT))).into();
    let (mut loaded, mut findings) = (Vec::new(), Vec::new());
    let total = SharedBudget::of_a_load();
    for (documents, problems) in read {
        findings.extend(problems);
        for document in documents.iter().filter(|document| !is_settings(document.root())) {
            let source = Arc::clone(document.source_text());
            let native_sidecars = settings.native_sidecars;
            let mut reader = Reader::new(source, native_sidecars, total.clone());
            let rule = injection(&mut reader, document.root(), pod);
            findings.append(&mut reader.findings);
            let source = reader.source;
            let digest = digest_of(document).into();
            loaded.extend(rule.map(|rule| LoadedRule { rule: Rule { digest, ..rule }, source }));
        }
    }
    findings.extend(settings_findings);
    findings.extend(duplicate_names(&loaded));
    findings.extend(feedback::findings(&loaded, &settings));
    findings.extend(anchors::findings(&loaded));
    findings.extend(removals::findings(&loaded));
    sort_by_source(&mut findings, &names);
    let wrong = findings.iter().any(|finding| finding.severity() == Severity::Error);
    let more = findings.get(MAX_FINDINGS).map(Diagnostic::and_more_hidden);
    findings.truncate(MAX_FINDINGS);
    findings.extend(more);
    if wrong {
        return Err(findings);
    }
    let mut rules: Vec<Rule> = loaded.into_iter().map(|loaded| loaded.rule).collect();
    rules.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    Ok(LoadedDocuments { rules, settings, warnings: findings, hash: hash_of_all })
}

/// Sorts findings by source in the order of loading, then by location.
fn sort_by_source(findings: &mut [Diagnostic], names: &[&str]) {
    let mut rank = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        rank.entry(*name).or_insert(index);
    }
    findings
        .sort_by_key(|finding| (rank.get(finding.source()).copied(), finding.position(), finding.code().id));
}

fn digest_of(document: &yaml::Document) -> String {
    digest::full([document.to_json().as_str()])
}

/// The settings of the first settings document, and the findings about all of them.
fn settings_of<'d>(documents: impl Iterator<Item = &'d yaml::Document>) -> (Settings, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let mut first: Option<(Settings, String)> = None;
    for document in documents {
        let source = Arc::clone(document.source_text());
        let mut reader = Reader::new(source, true, SharedBudget::of_a_load());
        let settings = settings::settings(&mut reader, document.root());
        let at = document.root().at();
        if let Some((_, location)) = &first {
            reader.error(&DUPLICATE_SETTINGS, at, format!("settings exist already, at {location}"), "");
        } else {
            first = Some((settings, diagnostic::position_in(document.source(), at)));
        }
        findings.append(&mut reader.findings);
    }
    (first.map(|(settings, _)| settings).unwrap_or_default(), findings)
}

fn duplicate_names(loaded: &[LoadedRule]) -> Vec<Diagnostic> {
    let mut first: HashMap<&str, &Rule> = HashMap::new();
    let mut findings = Vec::new();
    for LoadedRule { rule, source, .. } in loaded {
        if let Some(earlier) = first.get(rule.name()) {
            let place = diagnostic::position_in(&earlier.source, earlier.at);
            let message = format!("rule `{}` exists already, at {place}", rule.name);
            findings.push(source.error(&DUPLICATE_NAME, rule.at, message));
        } else {
            first.insert(rule.name(), rule);
        }
    }
    findings
}
