//! Rules of namespaces. Each is compiled by itself, beside the rules and settings of the cluster that are in force, so that an
//! error in one affects no other rule.
//!
//! There are no last good versions: a rule with errors, or one that the settings no longer allow, is not in force.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_rules::diagnostic::code::NAMESPACED_PLACE;
use vestibule_rules::yaml::Text;
use vestibule_rules::{NamespacedRules, Rule, RuleSet};

use super::compiler::Compiler;
use super::finding::Finding;
use super::proof_deadline::ProofDeadline;
use super::rule_source::RuleSource;

/// The rules of namespaces of one moment. A clone is cheap.
#[derive(Clone, Default)]
pub(crate) struct NamespacedSnapshot {
    /// The rules in force.
    pub(crate) rules: NamespacedRules,
    compiled: Arc<[Compiled]>,
    /// The findings about all sources.
    pub(crate) findings: Arc<[Finding]>,
    /// The hash of the rules of the cluster that they were compiled beside.
    cluster: String,
}

/// A source with its rule and warnings, or its errors.
#[derive(Clone)]
struct Compiled {
    source: RuleSource,
    result: Result<(Arc<Rule>, Vec<Finding>), Vec<Finding>>,
    is_in_force: bool,
}

impl NamespacedSnapshot {
    /// The rules of namespaces that came with the documents of `cluster`.
    pub(super) fn new(cluster: &RuleSet) -> Self {
        Self { rules: cluster.namespaced().clone(), ..Self::default() }
    }

    /// The same rules under the bounds of `cluster`, until [`compile`](Self::compile) has compiled them beside its rules and counted
    /// them anew.
    pub(super) fn under(&self, cluster: &RuleSet) -> Self {
        Self { rules: in_force(cluster, &self.compiled), ..self.clone() }
    }

    /// Compiles `sources` beside the rules `cluster`. A source that `former` has compiled is not compiled again.
    pub(crate) fn compile(
        sources: &[RuleSource],
        cluster: &RuleSet,
        former: &Self,
        compiler: &Compiler,
    ) -> Self {
        let known: HashMap<&str, &Compiled> = match former.cluster == cluster.hash() {
            true => former.compiled.iter().map(|one| (&*one.source.name, one)).collect(),
            false => HashMap::new(),
        };
        let mut counts = Counts::default();
        let mut findings = Vec::new();
        let compile = |source: &RuleSource| {
            let same = known.get(&*source.name).filter(|known| known.source == *source);
            let result = match same {
                Some(known) => known.result.clone(),
                None => compiled(source, cluster, compiler, &ProofDeadline::none()),
            };
            let mut is_in_force = false;
            match &result {
                Ok((rule, warnings)) => {
                    let excess = counts.add(rule, cluster);
                    is_in_force = excess.is_none();
                    findings.extend(warnings.iter().cloned().chain(excess));
                }
                Err(errors) => findings.extend(errors.iter().cloned()),
            }
            Compiled { source: source.clone(), result, is_in_force }
        };
        // The sources are sorted by name, so that all replicas choose the same rules if there are too many.
        let mut sources: Vec<&RuleSource> = sources.iter().collect();
        sources.sort_by(|one, other| one.name.cmp(&other.name));
        let compiled: Vec<Compiled> = sources.into_iter().map(compile).collect();
        let rules = in_force(cluster, &compiled);
        let (all, in_force) = (compiled.len(), rules.iter().count());
        if all > 0 {
            tracing::info!(all, in_force, "rules of namespaces were read");
        }
        let cluster = cluster.hash().to_owned();
        Self { rules, compiled: compiled.into(), findings: findings.into(), cluster }
    }

    /// The warnings about `source`, if it may be stored.
    ///
    /// # Errors
    /// The findings about it.
    pub(super) fn check(
        &self,
        source: &RuleSource,
        cluster: &RuleSet,
        compiler: &Compiler,
        deadline: &ProofDeadline,
    ) -> Result<Vec<Finding>, Vec<Finding>> {
        let (rule, mut remarks) = compiled(source, cluster, compiler, deadline)?;
        let mut counts = Counts::default();
        let others = self.compiled.iter().filter(|one| one.is_in_force && one.source.name != source.name);
        others.filter_map(Compiled::rule).for_each(|other| drop(counts.add(other, cluster)));
        if let Some(excess) = counts.add(&rule, cluster) {
            return Err(vec![excess]);
        }
        let alone = NamespacedRules::new(cluster.settings().namespaced.as_ref(), [rule]);
        remarks.extend(RuleSet::default().with_namespaced(alone).lint().into_iter().map(Finding::from));
        Ok(remarks)
    }

    /// The names and texts of the sources in force.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = (&str, &str)> {
        let in_force = self.compiled.iter().filter(|one| one.is_in_force);
        in_force.filter_map(|one| Some((&*one.source.name, one.source.text.as_deref().ok()?)))
    }
}

impl Compiled {
    fn rule(&self) -> Option<&Arc<Rule>> {
        self.result.as_ref().ok().map(|(rule, _)| rule)
    }
}

/// The numbers of rules, of each namespace and of all.
#[derive(Default)]
struct Counts {
    of_namespace: HashMap<String, usize>,
    of_all: usize,
}

impl Counts {
    /// The finding if there are too many with `rule`, which does not count then.
    fn add(&mut self, rule: &Rule, cluster: &RuleSet) -> Option<Finding> {
        let bounds = cluster.settings().namespaced.as_ref()?;
        let of_namespace =
            self.of_namespace.entry(rule.namespace().unwrap_or_default().to_owned()).or_default();
        if let Some(message) = bounds.exceeded_by(*of_namespace + 1, self.of_all + 1) {
            return Some(rule.finding_at_name(&NAMESPACED_PLACE, message).into());
        }
        *of_namespace += 1;
        self.of_all += 1;
        None
    }
}

/// The rules of namespaces that came with `cluster`, and those of `compiled` that are in force, under the bounds of `cluster`.
fn in_force(cluster: &RuleSet, compiled: &[Compiled]) -> NamespacedRules {
    let rules = compiled.iter().filter(|one| one.is_in_force).filter_map(Compiled::rule);
    cluster.namespaced().with(rules.cloned())
}

fn compiled(
    source: &RuleSource,
    cluster: &RuleSet,
    compiler: &Compiler,
    deadline: &ProofDeadline,
) -> Result<(Arc<Rule>, Vec<Finding>), Vec<Finding>> {
    match &source.text {
        Ok(text) => compiler.compile_namespaced(cluster, Text::from((&*source.name, &**text)), deadline),
        Err(problem) => Err(vec![Finding::Source { name: source.name.clone(), problem: problem.clone() }]),
    }
}

#[cfg(test)]
mod tests;
