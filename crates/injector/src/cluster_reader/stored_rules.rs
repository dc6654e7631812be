//! Rules as a cluster stores them, and which of them are in force.

use std::collections::HashSet;

use vestibule_rules::RuleSet;

use super::ClusterError;
use crate::configuration::compiler::Compiler;
use crate::configuration::finding::Finding;
use crate::configuration::last_good::to_store;
use crate::configuration::namespaced::NamespacedSnapshot;
use crate::configuration::proof_deadline::ProofDeadline;
use crate::configuration::resolve::{Resolution, resolve};
use crate::configuration::rule_source::{RuleDocument, RuleSource};
use crate::rule_files::LoadError;

/// Rules in ConfigMaps and objects, before they are compiled.
pub struct StoredRules {
    /// The namespace of the ConfigMaps and of the injector, if it is known.
    pub(super) namespace: Option<String>,
    pub(super) sources: Vec<RuleSource>,
    /// The rules of namespaces; [`None`] without the right to read them.
    pub(super) namespaced: Option<Vec<RuleSource>>,
    /// The last good documents if some are stored, or the reason why they cannot be read.
    pub(super) last_good: Result<Option<Vec<RuleDocument>>, ClusterError>,
}

/// The rules that an injector which reads the same sources has in force.
pub struct RulesInForce {
    /// The newest good version of each document.
    pub rules: RuleSet,
    /// The errors in the newest texts.
    pub wrong: Vec<Finding>,
    /// Whether these rules are in force.
    pub status: RulesStatus,
    /// Whether the rules of namespaces are among them: not without the right to read these.
    pub has_namespaced: bool,
}

/// Whether rules that were read are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulesStatus {
    /// They are in force: the newest version of each document if it is good, else its last good version.
    InForce,
    /// The newest texts contradict each other, so the last good version of every document is in force.
    LastGood,
    /// The newest texts have errors or contradict each other, and no documents were good before, so no rules are in force. These
    /// are the newest documents without errors, the first of each name.
    NotInForce,
}

impl RulesInForce {
    /// For a cluster without rules.
    pub fn none() -> Self {
        let (rules, wrong) = (RuleSet::default(), Vec::new());
        Self { rules, wrong, status: RulesStatus::InForce, has_namespaced: true }
    }
}

impl StoredRules {
    /// The rules in force. If the newest documents contradict each other, as two rules of one name do, these are the last good
    /// ones; with errors and without last good ones no rules are in force, and an injector that starts is not ready.
    ///
    /// # Errors
    /// All findings, if no document is good by itself.
    pub fn in_force(&self) -> Result<RulesInForce, LoadError> {
        let compiler = Compiler::new(self.namespace.as_deref());
        let last_good = self.last_good.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        let Resolution { in_force, errors: mut wrong } =
            resolve(&self.sources, last_good, &compiler, &ProofDeadline::none());
        let unknown = match &self.last_good {
            Ok(Some(_)) => None,
            Ok(None) => to_store(&self.documents())
                .err()
                .map(|error| format!("the documents are not stored: {error}")),
            Err(error) => Some(error.to_string()),
        };
        let nothing_was_good = self.last_good.as_ref().is_ok_and(Option::is_none) && unknown.is_none();
        let status = match nothing_was_good && !wrong.is_empty() {
            true => RulesStatus::NotInForce,
            false => RulesStatus::InForce,
        };
        if let (false, Some(why)) = (wrong.is_empty(), unknown) {
            wrong.push(Finding::RuleSet(format!("what was good last is not known: {why}")));
        }
        if let Some((snapshot, _)) = in_force {
            let rules = snapshot.rules().clone();
            let none = NamespacedSnapshot::default();
            let namespaced = self.namespaced.as_deref().unwrap_or_default();
            let own = NamespacedSnapshot::compile(namespaced, &rules, &none, &compiler);
            wrong.extend(own.findings.iter().filter(|finding| finding.is_error()).cloned());
            let rules = rules.with_namespaced(own.rules.clone());
            let has_namespaced = self.namespaced.is_some();
            return Ok(RulesInForce { rules, wrong, status, has_namespaced });
        }
        let of = |documents: &[RuleDocument]| {
            let texts: Vec<_> = documents.iter().map(RuleDocument::text).collect();
            compiler.compile(&texts, &ProofDeadline::none()).ok()
        };
        if let Some(rules) = Some(last_good).filter(|documents| !documents.is_empty()).and_then(of) {
            return Ok(RulesInForce { rules, wrong, status: RulesStatus::LastGood, has_namespaced: false });
        }
        let mut seen = HashSet::new();
        let documents = self.documents().into_iter();
        let first: Vec<_> = documents.filter(|document| seen.insert(document.key.clone())).collect();
        let rules = of(&first).ok_or_else(|| LoadError::of(&wrong))?;
        Ok(RulesInForce { rules, wrong, status: RulesStatus::NotInForce, has_namespaced: false })
    }

    fn documents(&self) -> Vec<RuleDocument> {
        self.sources.iter().flat_map(RuleSource::documents).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules of a cluster were said to be in force while its injector waited for a first version without errors.
    #[test]
    fn with_errors_and_no_last_good_documents_no_rules_are_in_force() {
        let rule = |part| {
            format!(
                "{{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {{name: {part}}}, spec: {{optIn: pod, pod: {{{part}: {{a: b}}}}}}}}"
            )
        };
        let sources = ["labels", "lables"].map(|part| RuleSource::new(part, rule(part))).into();
        let mut stored =
            StoredRules { namespace: None, sources, namespaced: Some(Vec::new()), last_good: Ok(None) };
        let in_force = stored.in_force().unwrap();
        assert_eq!((in_force.wrong.len(), in_force.status), (1, RulesStatus::NotInForce));
        stored.last_good = Ok(Some(Vec::new()));
        assert_eq!(stored.in_force().unwrap().status, RulesStatus::InForce);
        stored.last_good = Ok(None);
        // No ConfigMap holds such documents, so the replicas have the last good ones in memory alone.
        stored
            .sources
            .push(RuleSource::new("long", format!("{}\n# {}", rule("annotations"), "x".repeat(1 << 20))));
        let in_force = stored.in_force().unwrap();
        assert_eq!(in_force.status, RulesStatus::InForce);
        assert!(in_force.wrong[1].headline().contains("the documents are not stored: they take"));
        stored.sources.truncate(1);
        assert_eq!(stored.in_force().unwrap().status, RulesStatus::InForce);
    }
}
