//! Compiles documents into rules, or reports all errors of all documents.

mod anchors;
mod blocks;
mod expressions;
pub(crate) mod feedback;
mod fragment;
mod injected;
mod injection;
mod items;
mod iteration;
mod label_selector;
mod matching;
mod namespaced;
mod parameters;
mod parts;
mod pod_types;
mod probes;
mod reader;
mod relations;
mod removals;
mod security_profile;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::Schema;

use crate::diagnostic::{self, DUPLICATE_NAME, DUPLICATE_SETTINGS, Diagnostic, MAX_FINDINGS, Severity};
use crate::digest;
use crate::expression::SharedBudget;
use crate::rule::Rule;
use crate::settings::Settings;
use crate::yaml::{self, Text};
use injection::{injection, is_settings};
use reader::Reader;

/// The result of loading all documents.
pub(crate) struct LoadedDocuments {
    /// Rules in the order in which they are evaluated.
    pub(crate) rules: Vec<Rule>,
    /// Rules of namespaces.
    pub(crate) namespaced: Vec<Rule>,
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
    let (mut rules, mut findings) = (Vec::new(), Vec::new());
    let total = SharedBudget::of_a_load();
    for (documents, problems) in read {
        findings.extend(problems);
        for document in documents.iter().filter(|document| !is_settings(document.root())) {
            let (rule, mut found) = rule(document, &settings, total.clone(), pod);
            findings.append(&mut found);
            rules.extend(rule);
        }
    }
    let (namespaced, mut rules): (Vec<Rule>, Vec<Rule>) =
        rules.into_iter().partition(|rule: &Rule| rule.namespace.is_some());
    findings.extend(settings_findings);
    findings.extend(duplicate_names(&rules));
    findings.extend(duplicate_names(&namespaced));
    findings.extend(feedback::findings(rules.iter().chain(&namespaced), &rules, &settings));
    findings.extend(namespaced.iter().flat_map(|rule| namespaced::findings(rule, &settings)));
    findings.extend(namespaced::too_many(&namespaced, &settings));
    findings.extend(anchors::findings(&rules));
    findings.extend(removals::findings(&rules));
    sort_by_source(&mut findings, &names);
    let wrong = findings.iter().any(|finding| finding.severity() == Severity::Error);
    let more = findings.get(MAX_FINDINGS).map(Diagnostic::and_more_hidden);
    findings.truncate(MAX_FINDINGS);
    findings.extend(more);
    if wrong {
        return Err(findings);
    }
    rules.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    Ok(LoadedDocuments { rules, namespaced, settings, warnings: findings, hash: hash_of_all })
}

/// Loads the rule of a namespace in `text`, a text of one document, beside `rules` and `settings` of the cluster. The second value
/// are the warnings.
pub(crate) fn namespaced_rule(
    text: Text<'_>,
    rules: &[Rule],
    settings: &Settings,
    pod: Schema<'_>,
) -> Result<(Rule, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (documents, mut findings) = yaml::read_all(text);
    let mut found = None;
    for document in &documents {
        let (rule, more) = rule(document, settings, SharedBudget::of_a_load(), pod);
        findings.extend(more);
        found = found.or(rule);
    }
    if let Some(rule) = &found {
        findings.extend(namespaced::switched_off(rule, settings, Severity::Error));
        findings.extend(feedback::findings([rule], rules, settings));
        findings.extend(namespaced::findings(rule, settings));
    }
    let wrong = findings.iter().any(|finding| finding.severity() == Severity::Error);
    findings.truncate(MAX_FINDINGS);
    match found {
        Some(rule) if !wrong => Ok((rule, findings)),
        _ => Err(findings),
    }
}

/// Reads the rule of a document. [`None`] if its name or `spec` is missing.
fn rule(
    document: &yaml::Document,
    settings: &Settings,
    total: SharedBudget,
    pod: Schema<'_>,
) -> (Option<Rule>, Vec<Diagnostic>) {
    let source = Arc::clone(document.source_text());
    let mut reader = Reader::new(source, settings.native_sidecars, total);
    let rule = injection(&mut reader, document.root(), pod);
    let digest = digest_of(document).into();
    (rule.map(|rule| Rule { digest, ..rule }), reader.findings)
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

fn duplicate_names(rules: &[Rule]) -> Vec<Diagnostic> {
    let mut first: HashMap<&str, &Rule> = HashMap::new();
    let mut findings = Vec::new();
    for rule in rules {
        if let Some(earlier) = first.get(rule.name()) {
            let place = diagnostic::position_in(&earlier.source, earlier.at);
            let message = format!("rule `{}` exists already, at {place}", rule.name);
            findings.push(rule.text.finding(&DUPLICATE_NAME, rule.at, message));
        } else {
            first.insert(rule.name(), rule);
        }
    }
    findings
}
