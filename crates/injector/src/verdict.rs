//! Turns a decision into the answer for the API server, with warnings and audit annotations.

use vestibule::admission::{Denial, Verdict};
use vestibule_rules::{Decision, Mode, Outcome, Reason, RuleSet};

/// The limit of one audit annotation in bytes. The API server has no limit of its own and writes each into its log.
const MAX_ANNOTATION: usize = 2048;

/// The answer for `decision`, which was made by `rules`.
pub(crate) fn verdict(decision: &Decision, rules: &RuleSet) -> Verdict {
    let is_observed = rules.settings().mode == Mode::Observe;
    let mut verdict = match decision.denial() {
        // In the mode `observe` only audit annotations say what the rules would have done.
        _ if is_observed => Verdict::allowed(),
        Some(message) => Denial::new(message).into(),
        None => Verdict::mutated(decision.patch().clone()),
    };
    if is_observed {
        verdict.audit.insert("mode", Mode::Observe.as_str());
    } else {
        decision.warnings.iter().for_each(|warning| verdict.warnings.push(warning));
    }
    let applied = decision.verdicts.iter().filter(|one| matches!(one.outcome, Outcome::Applied));
    annotate(&mut verdict, "rules", applied.map(|one| (&*one.rule, None)));
    let skipped = decision.verdicts.iter().filter_map(|one| match &one.outcome {
        // Rules for other resources are not listed.
        Outcome::Skipped { reason: Reason::OtherResource, .. } => None,
        Outcome::Skipped { reason, .. } => Some((&*one.rule, Some(*reason))),
        _ => None,
    });
    annotate(&mut verdict, "skipped", skipped);
    verdict.audit.insert("config", rules.hash());
    verdict
}

/// Adds the list of rules, each with the reason why it was skipped.
fn annotate<'d>(verdict: &mut Verdict, key: &str, rules: impl Iterator<Item = (&'d str, Option<Reason>)>) {
    let mut text = String::new();
    let mut more = 0_usize;
    for (rule, reason) in rules {
        let length = rule.len() + reason.map_or(0, |reason| 1 + reason.as_str().len());
        if text.len() + length >= MAX_ANNOTATION {
            more += 1;
            continue;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(rule);
        if let Some(reason) = reason {
            text.push('=');
            text.push_str(reason.as_str());
        }
    }
    if more > 0 {
        text.push_str(&format!(",and {more} more"));
    }
    if !text.is_empty() {
        verdict.audit.insert(key, text);
    }
}
