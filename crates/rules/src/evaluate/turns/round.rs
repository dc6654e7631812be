//! One rule after the other, all beside each other.

use std::collections::{BTreeMap, HashMap};

use vestibule_patch::View;

use super::super::missed::Missed;
use super::{Evaluation, Filled, Laid, Turns, authors, without};
use crate::expression::{ObjectValue, Scope};
use crate::logic::{checked_keys, instantiate};
use crate::merge::{self, Draft, Scene};
use crate::pod::Shape;
use crate::rule::Rule;

/// What came of rules that were laid in once, each beside all others.
struct Round<'d, 'r> {
    draft: Draft<'d>,
    laid: Vec<Filled<'r>>,
    /// Rules that did not come to be laid in: a condition does not hold, an expression has no value.
    absent: Vec<(&'r str, Missed)>,
    /// Rules that cannot be laid in, whoever else of these is there.
    failed: Vec<(&'r str, Missed)>,
}

impl Turns<'_> {
    /// Lays in what can be laid in. With every rule that is missed all starts anew without it: what is left out leaves no
    /// trace, and nobody yields to it. As long as some are absent nobody else is out: beside them a rule may have failed that
    /// does not without them.
    pub(super) fn lay_most<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut missed = HashMap::new();
        loop {
            let acting = without(rules, &missed);
            if !self.spend(acting.len()) {
                return Laid::new(start.clone(), missed, Vec::new());
            }
            let Round { draft, laid, absent, failed } =
                self.lay_beside_each_other(&acting, evaluation, start);
            if absent.is_empty() && failed.is_empty() {
                return Laid::new(draft, missed, laid);
            }
            missed.extend(if absent.is_empty() { failed } else { absent });
        }
    }

    fn lay_beside_each_other<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Round<'d, 'r> {
        let scene = Scene::new(rules, || start.at(&self.layout.spec), self.layout, self.shape);
        let settled = authors(start);
        let mut round = Round {
            draft: start.clone(),
            laid: Vec::with_capacity(rules.len()),
            absent: Vec::new(),
            failed: Vec::new(),
        };
        let mut object = ObjectValue::default();
        let mut failed = Vec::new();
        for (rank, rule) in rules.iter().enumerate() {
            let computed = if rule.logic.is_fixed() {
                Ok(Filled::AsWritten(rule))
            } else {
                computed(rule, evaluation, round.draft.whole(), &object, self.shape)
            };
            let computed = match computed {
                Ok(computed) => computed,
                // It was the end of its own condition. What it brought stays, and so does its place beside the others.
                Err(Missed::Declined(_)) if settled.contains(rule.name()) => continue,
                Err(why) => {
                    round.absent.push((rule.name(), why));
                    continue;
                }
            };
            let (before, leads) = (round.draft.before(), scene.leads());
            match merge::lay(&computed, rank, &scene, &mut round.draft) {
                Ok(()) => {
                    object.follow(round.draft.since(&before));
                    round.laid.push(computed);
                }
                Err(why) => {
                    round.draft.go_back(&before, self.layout);
                    scene.go_back(rank, rule, leads);
                    failed.push((rank, *rule, why));
                }
            }
        }
        if !failed.is_empty() {
            let ranks: Vec<(usize, &Rule)> = failed.iter().map(|(rank, rule, _)| (*rank, *rule)).collect();
            let out = scene.first_out(&ranks);
            let failed = failed.into_iter().filter(|(rank, ..)| out.contains(rank));
            round.failed.extend(failed.map(|(_, rule, why)| (rule.name(), Missed::Failed(why))));
        }
        round
    }
}

/// `rule` for the object that is `current`; `object` is what expressions made of that.
fn computed<'r>(
    rule: &'r Rule,
    evaluation: &Evaluation<'_, '_>,
    current: View<'_>,
    object: &ObjectValue,
    shape: &Shape,
) -> Result<Filled<'r>, Missed> {
    let none = BTreeMap::new();
    let parameters = evaluation.parameters.get(rule.name()).unwrap_or(&none);
    let scope = Scope::new(&evaluation.request_scope, current, object, parameters, &rule.logic.variables);
    match rule.logic.declined(&scope) {
        Ok(None) => match instantiate(rule, &scope) {
            Ok(Some(mut computed)) => match checked_keys(&mut computed, shape) {
                Ok(()) => Ok(Filled::Computed(Box::new(computed))),
                Err(failure) => Err(Missed::Failed(failure)),
            },
            Ok(None) => Ok(Filled::AsWritten(rule)),
            Err(failure) => Err(Missed::Failed(failure)),
        },
        Ok(Some(clause)) => Err(Missed::Declined(clause)),
        Err(failure) => Err(Missed::Failed(failure)),
    }
}
