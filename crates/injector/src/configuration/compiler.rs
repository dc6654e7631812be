//! Compiles texts into rules that can be served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vestibule::admission::keys;
use vestibule_rules::yaml::Text;
use vestibule_rules::{Diagnostic, Proofs, Rule, RuleSet};

use super::finding::Finding;
use super::proof_deadline::ProofDeadline;
use crate::registration;
use crate::start_error::StartError;

/// Compiles and proves rules, and refuses those that this injector could not serve.
pub(crate) struct Compiler {
    own_namespace: Option<String>,
    /// Whether rules may read labels of namespaces.
    pub(super) knows_namespaces: AtomicBool,
    /// Finished proofs. Most documents do not change from one reload to the next.
    proofs: Proofs,
}

impl Compiler {
    pub(crate) fn new(own_namespace: Option<&str>) -> Self {
        let own_namespace = own_namespace.map(str::to_owned);
        Self { own_namespace, knows_namespaces: AtomicBool::new(true), proofs: Proofs::default() }
    }

    /// Checks one document by itself, under `settings` where those are in another document.
    pub(super) fn check(
        &self,
        settings: Option<Text<'_>>,
        text: Text<'_>,
        deadline: &ProofDeadline,
    ) -> Result<(), Vec<Finding>> {
        let texts: Vec<_> = settings.into_iter().chain([text]).collect();
        self.proved(&texts, deadline).map(drop)
    }

    /// Compiles all documents together.
    pub(crate) fn compile(
        &self,
        texts: &[Text<'_>],
        deadline: &ProofDeadline,
    ) -> Result<RuleSet, Vec<Finding>> {
        let rules = self.proved(texts, deadline)?;
        if !self.knows_namespaces.load(Ordering::Relaxed)
            && let Some(error) = StartError::of_rules(&rules)
        {
            return Err(vec![Finding::RuleSet(error.to_string())]);
        }
        registration::entries(&rules).map_err(findings)?;
        Ok(rules)
    }

    /// Compiles the rule of a namespace beside the rules `cluster`. The second value are the warnings.
    pub(super) fn compile_namespaced(
        &self,
        cluster: &RuleSet,
        text: Text<'_>,
        deadline: &ProofDeadline,
    ) -> Result<(Arc<Rule>, Vec<Finding>), Vec<Finding>> {
        let compiled = cluster.namespaced_rule(text, &self.proofs, || deadline.has_time());
        compiled.map(|(rule, warnings)| (rule, findings(warnings))).map_err(findings)
    }

    fn proved(&self, texts: &[Text<'_>], deadline: &ProofDeadline) -> Result<RuleSet, Vec<Finding>> {
        let rules = RuleSet::load(texts.iter().copied(), keys::schema("", "v1", "Pod")).map_err(findings)?;
        let rules = match &self.own_namespace {
            Some(namespace) => rules.with_own_namespace(namespace),
            None => rules,
        };
        rules.prove_further(&self.proofs, || deadline.has_time()).map_err(findings)?;
        Ok(rules)
    }
}

fn findings(found: Vec<Diagnostic>) -> Vec<Finding> {
    found.into_iter().map(Finding::from).collect()
}
