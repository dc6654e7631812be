//! From texts to rules that can be served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vestibule::keys;
use vestibule_rules::yaml::Text;
use vestibule_rules::{Diagnostic, Proofs, RuleSet};

use super::patience::Patience;
use super::settle::Compile;
use super::{Finding, Snapshot};
use crate::{StartError, registration};

/// What rules must fit besides each other.
pub(crate) struct Compiler {
    own_namespace: Option<String>,
    /// Whether rules may ask for labels of namespaces.
    knows_namespaces: Arc<AtomicBool>,
    /// Most documents are the same from one reading to the next.
    proofs: Proofs,
}

impl Compile for Compiler {
    fn check(
        &self,
        settings: Option<Text<'_>>,
        text: Text<'_>,
        patience: &Patience,
    ) -> Result<(), Vec<Finding>> {
        let texts: Vec<_> = settings.into_iter().chain([text]).collect();
        self.proved(&texts, patience).map(drop)
    }

    fn compile(&self, texts: &[Text<'_>], patience: &Patience) -> Result<Snapshot, Vec<Finding>> {
        let snapshot = Snapshot::new(self.proved(texts, patience)?);
        let refused = |problem: String| vec![Finding::Whole(problem)];
        if !self.knows_namespaces.load(Ordering::Relaxed)
            && let Some(error) = StartError::of_asking(snapshot.rules())
        {
            return Err(refused(error.to_string()));
        }
        registration::entries(snapshot.rules()).map_err(findings)?;
        Ok(snapshot)
    }
}

impl Compiler {
    pub(crate) fn new(own_namespace: Option<&str>, knows_namespaces: &Arc<AtomicBool>) -> Self {
        Self {
            own_namespace: own_namespace.map(str::to_owned),
            knows_namespaces: Arc::clone(knows_namespaces),
            proofs: Proofs::default(),
        }
    }

    fn proved(&self, texts: &[Text<'_>], patience: &Patience) -> Result<RuleSet, Vec<Finding>> {
        let rules = RuleSet::load(texts.iter().copied(), keys::schema("", "v1", "Pod")).map_err(findings)?;
        let rules = match &self.own_namespace {
            Some(namespace) => rules.with_own_namespace(namespace),
            None => rules,
        };
        rules.prove_further(&self.proofs, || patience.lasts()).map_err(findings)?;
        Ok(rules)
    }
}

fn findings(found: Vec<Diagnostic>) -> Vec<Finding> {
    found.into_iter().map(Finding::from).collect()
}
