//! One round: every rule is applied once, in order, to the result of the rules before it.

use std::collections::{BTreeMap, HashMap};

use vestibule_patch::View;

use super::super::not_applied::NotApplied;
use super::{Application, Evaluation, Fixpoint, ResolvedRule, authors, excluding};
use crate::evaluate::instantiate::{first_false_condition, instantiate};
use crate::evaluate::list_keys;
use crate::expression::{ObjectValue, Scope};
use crate::merge::{self, Draft, MergeContext};
use crate::pod::Shape;
use crate::rule::Rule;

struct Round<'d, 'r> {
    draft: Draft<'d>,
    applied: Vec<ResolvedRule<'r>>,
    /// Rules with a condition that is false or an expression without a value.
    absent: Vec<(&'r str, NotApplied)>,
    /// Rules that cannot be applied, independent of the other rules that failed.
    failed: Vec<(&'r str, NotApplied)>,
}

impl Fixpoint<'_> {
    /// Excludes rules that are not applied in a round and repeats it from `start`, so that they leave no change and no other rule
    /// yields to them. Rules that failed are excluded only when no rule is absent, because a rule may have failed only because
    /// an absent rule was taken into account.
    pub(super) fn successful_rules<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            if !self.spend(rules.len()) {
                return (Application::new(start.clone(), HashMap::new(), Vec::new()), HashMap::new());
            }
            let Round { draft, applied, absent, failed } = self.round(rules, evaluation, start);
            let excluded = if absent.is_empty() { failed } else { absent };
            (Application::new(draft, HashMap::new(), applied), excluded.into_iter().collect())
        })
    }

    fn round<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Round<'d, 'r> {
        let context = MergeContext::new(rules, || start.at(&self.layout.spec), self.layout, self.shape);
        let authors = authors(start);
        let mut round = Round {
            draft: start.clone(),
            applied: Vec::with_capacity(rules.len()),
            absent: Vec::new(),
            failed: Vec::new(),
        };
        let mut object = ObjectValue::default();
        let mut failed = Vec::new();
        for (rank, rule) in rules.iter().enumerate() {
            let resolved = if rule.logic.is_fixed() {
                Ok(ResolvedRule::AsWritten(rule))
            } else {
                resolve(rule, evaluation, round.draft.root(), &object, self.shape)
            };
            let resolved = match resolved {
                Ok(resolved) => resolved,
                // The rule made its own condition false. Its changes stay, and its rank among the other rules as well.
                Err(NotApplied::ConditionFalse(_)) if authors.contains(rule.name()) => continue,
                Err(why) => {
                    round.absent.push((rule.name(), why));
                    continue;
                }
            };
            let (checkpoint, leading) = (round.draft.checkpoint(), context.leading());
            match merge::apply(&resolved, rank, &context, &mut round.draft) {
                Ok(()) => {
                    object.follow(round.draft.since(&checkpoint));
                    round.applied.push(resolved);
                }
                Err(why) => {
                    round.draft.roll_back(&checkpoint, self.layout);
                    context.roll_back(rank, rule, leading);
                    failed.push((rank, *rule, why));
                }
            }
        }
        if !failed.is_empty() {
            let ranks: Vec<(usize, &Rule)> = failed.iter().map(|(rank, rule, _)| (*rank, *rule)).collect();
            let independent = context.independent_failures(&ranks);
            let failed = failed.into_iter().filter(|(rank, ..)| independent.contains(rank));
            round.failed.extend(failed.map(|(_, rule, why)| (rule.name(), NotApplied::Failed(why))));
        }
        round
    }
}

/// `rule` with values for its expressions. `current` is the object with the changes of earlier rules, and `object` is its value
/// in expressions.
fn resolve<'r>(
    rule: &'r Rule,
    evaluation: &Evaluation<'_, '_>,
    current: View<'_>,
    object: &ObjectValue,
    shape: &Shape,
) -> Result<ResolvedRule<'r>, NotApplied> {
    let none = BTreeMap::new();
    let parameters = evaluation.parameters.get(rule.name()).unwrap_or(&none);
    let scope = Scope::new(&evaluation.request_scope, current, object, parameters, &rule.logic.variables);
    if let Some(clause) = first_false_condition(rule, &scope).map_err(NotApplied::Failed)? {
        return Err(NotApplied::ConditionFalse(clause));
    }
    let Some(computed) = instantiate(rule, &scope).map_err(NotApplied::Failed)? else {
        return Ok(ResolvedRule::AsWritten(rule));
    };
    list_keys::check(&computed, shape).map_err(NotApplied::Failed)?;
    Ok(ResolvedRule::Computed(Box::new(computed)))
}
