//! One round: every rule is applied once, in order, to the result of the rules before it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::super::not_applied::{NotApplied, NotAppliedRules};
use super::{Application, Fixpoint};
use crate::evaluate::instantiate::{first_false_condition, instantiate};
use crate::evaluate::list_keys;
use crate::expression::{ObjectValue, RequestScope, Scope};
use crate::merge::{self, Draft, MergeContext};
use crate::rule::Rule;

impl<'r> Fixpoint<'_, 'r> {
    /// The result of a round, and the rules to exclude from it: those with a condition that is false or an expression without a
    /// value. Only if there are none, rules that failed are excluded, because a rule may have failed only because such a rule was
    /// taken into account.
    pub(super) fn round<'d>(
        &self,
        rules: &[&'r Rule],
        request_scope: &RequestScope<'_>,
        start: &Draft<'d>,
    ) -> (Application<'d, 'r>, NotAppliedRules<'r>) {
        let context = MergeContext::new(rules, start);
        let authors = start.authors();
        let mut round = Application::unchanged(start);
        let mut object = ObjectValue::default();
        let (mut absent, mut failed) = (HashMap::new(), Vec::new());
        for (rank, rule) in rules.iter().enumerate() {
            let resolved = if rule.logic.is_fixed() {
                Ok(Cow::Borrowed(*rule))
            } else {
                self.resolve(rule, request_scope, &round.draft, &object)
            };
            let resolved = match resolved {
                Ok(resolved) => resolved,
                // The rule made its own condition false. Its changes stay, and its rank among the other rules as well.
                Err(NotApplied::ConditionFalse(_)) if authors.contains(rule.name()) => continue,
                Err(why) => {
                    absent.insert(rule.name(), why);
                    continue;
                }
            };
            let checkpoint = round.draft.checkpoint();
            match merge::apply(&resolved, rank, &context, &mut round.draft) {
                Ok(()) => {
                    object.follow(round.draft.since(&checkpoint));
                    if !rule.logic.is_fixed() {
                        round.resolved.insert(rule.name(), resolved);
                    }
                }
                Err(why) => {
                    round.draft.roll_back(&checkpoint);
                    context.roll_back(rule);
                    failed.push((rank, *rule, why));
                }
            }
        }
        if !absent.is_empty() || failed.is_empty() {
            return (round, absent);
        }
        let ranks: Vec<(usize, &Rule)> = failed.iter().map(|(rank, rule, _)| (*rank, *rule)).collect();
        let independent = context.independent_failures(&ranks);
        let failed = failed.into_iter().filter(|(rank, ..)| independent.contains(rank));
        (round, failed.map(|(_, rule, why)| (rule.name(), NotApplied::Failed(why))).collect())
    }

    /// `rule` with values for its expressions. `draft` has the changes of earlier rules, and `object` is its value
    /// in expressions.
    fn resolve(
        &self,
        rule: &'r Rule,
        request_scope: &RequestScope<'_>,
        draft: &Draft<'_>,
        object: &ObjectValue,
    ) -> Result<Cow<'r, Rule>, NotApplied> {
        let none = BTreeMap::new();
        let parameters = self.parameters.get(rule.name()).unwrap_or(&none);
        let scope = Scope::new(request_scope, draft.root(), object, parameters, &rule.logic.variables);
        if let Some(clause) = first_false_condition(rule, &scope).map_err(NotApplied::Failed)? {
            return Err(NotApplied::ConditionFalse(clause));
        }
        let Some(computed) = instantiate(rule, &scope, &draft.shape).map_err(NotApplied::Failed)? else {
            return Ok(Cow::Borrowed(rule));
        };
        list_keys::check(&computed, &draft.shape).map_err(NotApplied::Failed)?;
        if let Some(readers) = self.readers.filter(|_| rule.logic.computes_metadata) {
            list_keys::check_metadata(&computed, readers).map_err(NotApplied::Failed)?;
        }
        Ok(Cow::Owned(computed))
    }
}
