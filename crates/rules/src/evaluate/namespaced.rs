//! Applies the rules of the object's namespace to the result of the rules of the cluster.
//!
//! Each rule is evaluated alone, on the result of those before it. A rule of a namespace cannot make a rule of the cluster fail or
//! use its budget. A rule whose result has a part that is not allowed is dropped as a whole.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::RuleSet;
use super::decide::{Request, trace_conditions};
use super::fixpoint::{Application, Fixpoint};
use super::list_keys::with_keys;
use super::not_applied::NotApplied;
use super::verdict::{not_applied, skipped, verdict};
use crate::decision::{Outcome, Reason, Verdict};
use crate::explanation::Record;
use crate::expression::SharedBudget;
use crate::merge::Draft;
use crate::namespaced::{NamespacedBounds, Protected, additions};
use crate::rule::{Resource, Rule};
use crate::subject::Received;

/// The result of the rules of a namespace.
pub(super) struct AppliedNamespaced<'d> {
    pub(super) draft: Draft<'d>,
    /// One for each rule.
    pub(super) verdicts: Vec<Verdict>,
    /// The rules whose parts the object has, with values for their expressions.
    pub(super) present: Vec<Rule>,
}

impl RuleSet {
    /// Applies the rules of the namespace to `draft`, which has the changes of `cluster`.
    pub(super) fn apply_namespaced<'d>(
        &self,
        request: &Request<'_>,
        cluster: &[&Rule],
        draft: Draft<'d>,
        warnings: &mut Vec<String>,
        record: &mut Option<Record>,
    ) -> AppliedNamespaced<'d> {
        let mut applied = AppliedNamespaced { draft, verdicts: Vec::new(), present: Vec::new() };
        let of_namespace = request.namespaced.and_then(|rules| rules.of(request.subject.namespace));
        let Some((rules, bounds)) = of_namespace else { return applied };
        if request.subject.resource != Resource::Pods {
            return applied;
        }
        let stage = Stage {
            set: self,
            request,
            bounds,
            protected: Protected::of(request.rules, &applied.draft),
            total: SharedBudget::of_a_request(),
        };
        let before = applied.draft.clone();
        for rule in rules {
            let verdict = stage.apply(rule, &mut applied, warnings, record);
            applied.verdicts.push(verdict);
        }
        if applied.verdicts.iter().any(|verdict| matches!(verdict.outcome, Outcome::Applied)) {
            stage.apply_cluster_again(cluster, before, &mut applied, warnings);
        }
        applied
    }
}

/// The input of all rules of the namespace, and their shared budget.
struct Stage<'s, 'q> {
    set: &'s RuleSet,
    request: &'s Request<'q>,
    bounds: &'s NamespacedBounds,
    protected: Protected,
    /// The budget for the expressions of all rules of the namespace.
    total: SharedBudget,
}

impl Stage<'_, '_> {
    fn apply(
        &self,
        rule: &Rule,
        applied: &mut AppliedNamespaced<'_>,
        warnings: &mut Vec<String>,
        record: &mut Option<Record>,
    ) -> Verdict {
        let Request { subject, document, .. } = *self.request;
        let start = applied.draft.as_received();
        let received = Received::new(start.root(), subject, start.layout);
        let context = self.set.match_context(subject, &received, std::slice::from_ref(rule));
        // Warnings about opt-in keys were made for the rules of the cluster.
        if let Some(skip) = context.skip_rule(rule, &mut Vec::new(), record) {
            return skipped(rule, &skip);
        }
        let rule = &self.protected.restricted(rule);
        let keyed = with_keys(&[rule], subject, &received, document, &start.shape, &self.total);
        let rules = [keyed.get(rule.name()).unwrap_or(rule)];
        let result = Fixpoint::new(subject, &received, self.total.clone(), None).run(&rules, &start);
        trace_conditions(&rules, &result, subject.presumed_owner, record);
        let Application { draft, not_applied: reasons, mut resolved, .. } = result;
        if let Some(why) = reasons.get(rule.name()) {
            return never_denied(not_applied(rule, why, warnings));
        }
        let is_changed = draft.change_count() > 0;
        if is_changed && let Some(sentence) = self.refused(&start, &draft) {
            warnings.push(format!("rule {} was left out: {sentence}", rule.name));
            let sentence = Arc::from(sentence);
            return verdict(rule, rule.at, Outcome::Skipped { reason: Reason::NotAllowed, sentence });
        }
        let outcome = if is_changed { Outcome::Applied } else { Outcome::Unchanged };
        let verdict = verdict(rule, rule.at, outcome);
        let values = resolved.remove(rule.name()).map(Cow::into_owned);
        applied.present.push(values.unwrap_or_else(|| rule.clone()));
        applied.draft = applied.draft.followed_by(draft);
        verdict
    }

    /// Applies the rules of the cluster once more, as the next call of the API server would do: they may be for a container that was
    /// added. If one of them cannot be applied to the result, the rules of the namespace are left out, and `before` is the result.
    fn apply_cluster_again<'d>(
        &self,
        cluster: &[&Rule],
        before: Draft<'d>,
        applied: &mut AppliedNamespaced<'d>,
        warnings: &mut Vec<String>,
    ) {
        let subject = self.request.subject;
        let start = applied.draft.as_received();
        let received = Received::new(start.root(), subject, start.layout);
        let again =
            Fixpoint::new(subject, &received, SharedBudget::of_a_request(), None).run(cluster, &start);
        let fails = |(_, why): &(&&str, &NotApplied)| !matches!(why, NotApplied::ConditionFalse(_));
        let Some(failed) = again.not_applied.iter().filter(fails).map(|(rule, _)| *rule).min() else {
            applied.draft = applied.draft.followed_by(again.draft);
            return;
        };
        let sentence = format!("rule {failed} could not be applied to the result");
        (applied.draft, applied.present) = (before, Vec::new());
        for verdict in &mut applied.verdicts {
            if matches!(verdict.outcome, Outcome::Applied) {
                warnings.push(format!("rule {} was left out: {sentence}", verdict.rule));
                let sentence = Arc::from(&*sentence);
                verdict.outcome = Outcome::Skipped { reason: Reason::NotAllowed, sentence };
            }
        }
    }

    /// Why the result `after` of a rule is dropped.
    fn refused(&self, before: &Draft<'_>, after: &Draft<'_>) -> Option<String> {
        let json = |draft: &Draft<'_>| serde_json::from_str::<Value>(&draft.root().to_json());
        let (Ok(before), Ok(after)) = (json(before), json(after)) else {
            return Some("the object is nested too deeply".to_owned());
        };
        additions(&before, &after, &self.protected, self.bounds).err().map(|why| why.to_string())
    }
}

/// A rule of a namespace denies no object.
fn never_denied(verdict: Verdict) -> Verdict {
    match verdict.outcome {
        Outcome::Denied { reason, message } => {
            Verdict { outcome: Outcome::Skipped { reason, sentence: message.into() }, ..verdict }
        }
        _ => verdict,
    }
}
