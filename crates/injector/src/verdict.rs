//! What the API server is told of a decision, and through it the user and the audit log.

use vestibule::{Denial, Verdict};
use vestibule_rules::{Decision, Mode, Outcome, Reason, RuleSet};

/// How long one audit annotation gets: the API server sets no limit, and writes each into its log.
const LONGEST_NOTE: usize = 2048;

/// The answer that `decision`, made by `rules`, leads to.
pub(crate) fn verdict(decision: &Decision, rules: &RuleSet) -> Verdict {
    let is_observed = rules.settings().mode() == Mode::Observe;
    let mut verdict = match decision.denial() {
        // What would have been done is for those who run the cluster, and nothing of it for its users.
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
    note(&mut verdict, "rules", applied.map(|one| one.rule.to_string()));
    let skipped = decision.verdicts.iter().filter_map(|one| match &one.outcome {
        // No pod ever is a deployment: nobody wonders about such a rule.
        Outcome::Skipped { reason: Reason::OtherResource, .. } => None,
        Outcome::Skipped { reason, .. } => Some(format!("{}={reason}", one.rule)),
        _ => None,
    });
    note(&mut verdict, "skipped", skipped);
    verdict.audit.insert("config", rules.hash());
    verdict
}

fn note(verdict: &mut Verdict, key: &str, values: impl Iterator<Item = String>) {
    let mut note = String::new();
    let mut more = 0_usize;
    for value in values {
        if note.len() + value.len() >= LONGEST_NOTE {
            more += 1;
            continue;
        }
        note.push_str(if note.is_empty() { "" } else { "," });
        note.push_str(&value);
    }
    if more > 0 {
        note.push_str(&format!(",and {more} more"));
    }
    if !note.is_empty() {
        verdict.audit.insert(key, note);
    }
}
