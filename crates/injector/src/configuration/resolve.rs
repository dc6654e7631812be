//! Which documents are in force: of each document the newest version that is good.

use std::collections::HashSet;

use super::compiler::Compiler;
use super::finding::Finding;
use super::proof_deadline::ProofDeadline;
use super::rule_source::{RuleDocument, RuleSource};
use super::snapshot::Snapshot;

/// The outcome of a reload.
pub(crate) struct Resolution {
    /// The rules to bring into force, and their documents; [`None`] where documents contradict each other.
    pub(crate) in_force: Option<(Snapshot, Vec<RuleDocument>)>,
    pub(crate) errors: Vec<Finding>,
}

/// Takes every good document, and in the place of a broken one its version in `last_good`. A document that is no longer in
/// `sources` is dropped. Settings that contradict an unchanged document come into force when one of the two is changed.
pub(crate) fn resolve(
    sources: &[RuleSource],
    last_good: &[RuleDocument],
    compiler: &Compiler,
    deadline: &ProofDeadline,
) -> Resolution {
    let texts: Option<Vec<_>> = sources.iter().map(RuleSource::text).collect();
    let together = match texts.map(|texts| compiler.compile(&texts, deadline)) {
        Some(Ok(rules)) => {
            let documents = sources.iter().flat_map(RuleSource::documents).collect();
            return Resolution { in_force: Some((Snapshot::new(rules), documents)), errors: Vec::new() };
        }
        Some(Err(findings)) => errors_of(findings),
        None => Vec::new(),
    };
    let checked = last_good.iter().map(|document| &*document.text).collect();
    let sources = sources.iter().map(|source| (source, source.documents())).collect();
    let resolver = Resolver { sources, last_good, checked, compiler, deadline };
    // The check of a rule depends on the settings.
    let settings = resolver.settings();
    let (documents, mut errors) = resolver.documents(settings.as_ref());
    let compiled = if errors.is_empty() {
        // Each document is good by itself, so the errors are contradictions between documents.
        Err(together)
    } else {
        if deadline.was_reached() {
            // Add the errors in documents that there was no time to check one by one.
            add_unknown(&mut errors, together);
        }
        resolver.compile(&documents)
    };
    match compiled {
        Ok(snapshot) => Resolution { in_force: Some((snapshot, documents)), errors },
        Err(found) => resolver.with_former_settings(&documents, &found).unwrap_or_else(|| {
            errors.extend(found);
            Resolution { in_force: None, errors }
        }),
    }
}

/// The newest texts, and the last good documents.
struct Resolver<'s> {
    /// Each source with its documents.
    sources: Vec<(&'s RuleSource, Vec<RuleDocument>)>,
    last_good: &'s [RuleDocument],
    /// The texts in force. They were checked under the settings of their time and are not checked again.
    checked: HashSet<&'s str>,
    compiler: &'s Compiler,
    deadline: &'s ProofDeadline,
}

impl Resolver<'_> {
    /// The settings to check rules with.
    fn settings(&self) -> Option<RuleDocument> {
        let check = |document: &RuleDocument| match document.is_settings() {
            true => self.check(document, None),
            false => Ok(()),
        };
        self.resolved(&check, &mut Vec::new()).into_iter().find(RuleDocument::is_settings)
    }

    /// The documents to bring into force when rules are checked with `settings`, and the errors in the others.
    fn documents(&self, settings: Option<&RuleDocument>) -> (Vec<RuleDocument>, Vec<Finding>) {
        let mut errors = Vec::new();
        let check =
            |document: &RuleDocument| self.check(document, settings.filter(|_| !document.is_settings()));
        let documents = self.resolved(&check, &mut errors);
        (documents, errors)
    }

    /// The outcome with the settings that were in force, if the settings in `newest` differ from them: the contradiction in
    /// `found` then holds up the new settings and no other document.
    fn with_former_settings(&self, newest: &[RuleDocument], found: &[Finding]) -> Option<Resolution> {
        let former = || self.last_good.iter().filter(|document| document.is_settings());
        let changed: Vec<_> = newest.iter().filter(|document| document.is_settings()).collect();
        let same = former().map(|document| &document.text).eq(changed.iter().map(|document| &document.text));
        if self.last_good.is_empty() || same {
            return None;
        }
        let (mut documents, mut errors) = self.documents(former().next());
        let place = documents.iter().position(RuleDocument::is_settings).unwrap_or(documents.len());
        documents.retain(|document| !document.is_settings());
        documents.splice(place..place, former().cloned());
        let snapshot = self.compile(&documents).ok()?;
        errors.extend(found.iter().map(|finding| match changed.as_slice() {
            [settings] => settings.blamed_for(finding),
            _ => finding.clone(),
        }));
        Some(Resolution { in_force: Some((snapshot, documents)), errors })
    }

    /// The documents of all sources that are to come into force; errors in the other documents go to `errors`.
    fn resolved(
        &self,
        check: &dyn Fn(&RuleDocument) -> Result<(), Vec<Finding>>,
        errors: &mut Vec<Finding>,
    ) -> Vec<RuleDocument> {
        let sources = self.sources.iter();
        sources.flat_map(|(source, newest)| self.resolved_source(source, newest, check, errors)).collect()
    }

    fn resolved_source(
        &self,
        source: &RuleSource,
        newest: &[RuleDocument],
        check: &dyn Fn(&RuleDocument) -> Result<(), Vec<Finding>>,
        errors: &mut Vec<Finding>,
    ) -> Vec<RuleDocument> {
        let former = self.last_good.iter().filter(|document| document.source == source.name);
        if let Err(problem) = &source.text {
            errors.push(Finding::Source { name: source.name.clone(), problem: problem.clone() });
            return former.cloned().collect();
        }
        let mut documents = Vec::new();
        let mut broken = Vec::new();
        for document in newest {
            match check(document) {
                Ok(()) => documents.push(document.clone()),
                Err(findings) => {
                    errors.extend(errors_of(findings));
                    broken.push(document.key.clone());
                }
            }
        }
        // A broken document without a readable name may be the next version of any former document that is missing.
        let any_is_nameless = broken.contains(&None);
        let replaced = |former: &&RuleDocument| {
            let is_present = documents.iter().any(|document| document.key == former.key);
            !is_present && (any_is_nameless || broken.contains(&former.key))
        };
        let replaced = former.filter(replaced);
        let is_here = |document: &RuleDocument| documents.iter().any(|one| one.key == document.key);
        let moved = self.last_good.iter().filter(|document| {
            let is_broken = document.key.is_some() && broken.contains(&document.key);
            is_broken
                && document.source != source.name
                && !is_here(document)
                && !self.is_elsewhere(document, source)
        });
        let kept = replaced.chain(moved).map(|document| document.in_place_of(&source.name, newest));
        let kept: Vec<_> = kept.collect();
        documents.extend(kept);
        documents
    }

    /// Whether a source other than `here` has a version of `document`, or may have one.
    fn is_elsewhere(&self, document: &RuleDocument, here: &RuleSource) -> bool {
        self.sources.iter().filter(|(source, _)| source.name != here.name).any(|(source, newest)| {
            let was_its_source = source.name == document.source;
            newest.iter().any(|one| one.key == document.key || was_its_source && one.key.is_none())
                || was_its_source && source.text.is_err()
        })
    }

    fn check(&self, document: &RuleDocument, settings: Option<&RuleDocument>) -> Result<(), Vec<Finding>> {
        match self.checked.contains(&*document.text) {
            true => Ok(()),
            false => self.compiler.check(settings.map(RuleDocument::text), document.text(), self.deadline),
        }
    }

    fn compile(&self, documents: &[RuleDocument]) -> Result<Snapshot, Vec<Finding>> {
        let texts: Vec<_> = documents.iter().map(RuleDocument::text).collect();
        self.compiler.compile(&texts, self.deadline).map(Snapshot::new).map_err(errors_of)
    }
}

/// Adds those of `found` that are not among `errors`.
pub(super) fn add_unknown(errors: &mut Vec<Finding>, found: Vec<Finding>) {
    let known: HashSet<_> = errors.iter().map(Finding::headline).collect();
    errors.extend(found.into_iter().filter(|finding| !known.contains(&finding.headline())));
}

/// The findings without warnings.
pub(super) fn errors_of(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(Finding::is_error).collect()
}
