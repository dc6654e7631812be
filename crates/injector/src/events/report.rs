//! The Events about a decision.

use k8s_openapi::api::core::v1::ObjectReference;
use vestibule::identity::events::Report;
use vestibule_rules::{Decision, Mode, Outcome, Reason, Verdict, diagnostic};

use crate::observer::DecisionContext;

/// The reason of an Event about a rule that was applied.
const INJECTED: &str = "Injected";

/// The Events about `decision`. There are none about a dry run, and none in the modes `observe` and `off`.
pub(super) fn of(decision: &Decision, context: &DecisionContext<'_>) -> Vec<Report> {
    let settings = context.settings();
    if context.dry_run() || settings.mode != Mode::On || decision.denial().is_some() {
        return Vec::new();
    }
    let is_reported = |verdict: &&Verdict| {
        reason(verdict).is_some_and(|reason| reason != INJECTED || settings.success_events)
    };
    let verdicts: Vec<&Verdict> = decision.verdicts.iter().filter(is_reported).collect();
    if verdicts.is_empty() || context.namespace().is_empty() {
        return Vec::new();
    }
    // The owner is read from the object only now, since most decisions make no Event.
    let Some(about) = context.owner().filter(is_plausible) else { return Vec::new() };
    let object = match context.name() {
        Some(name) => format!("{} {name}", context.resource().kind()),
        None => format!("a {}", context.resource().kind()),
    };
    let report = |verdict: &Verdict| {
        let reason = reason(verdict)?;
        Some(Report {
            about: about.clone(),
            is_warning: reason != INJECTED,
            reason,
            action: action(&verdict.rule),
            note: note(verdict, &object),
        })
    };
    verdicts.into_iter().filter_map(report).collect()
}

/// Whether an API server could have an object of this name: a user who creates a pod may write any owner into it.
fn is_plausible(owner: &ObjectReference) -> bool {
    let plain = |text: &Option<String>, more: &[char]| {
        text.as_ref().is_some_and(|text| {
            (1..=253).contains(&text.len())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c))
        })
    };
    plain(&owner.kind, &[])
        && plain(&owner.name, &['-', '.'])
        && plain(&owner.uid, &['-'])
        && plain(&owner.api_version, &['-', '.', '/'])
}

/// The reason of an Event: a rule was applied, or its owner wanted it and did not get it. A denial makes no Event, since the
/// user sees its message.
fn reason(verdict: &Verdict) -> Option<&'static str> {
    match &verdict.outcome {
        Outcome::Applied => Some(INJECTED),
        Outcome::Skipped { reason: Reason::Conflict, .. } => Some("InjectionConflict"),
        Outcome::Skipped { reason, .. } if reason.is_unexpected() => Some("InjectionSkipped"),
        _ => None,
    }
}

/// The action of an Event about `rule`, by which the Events of two rules are told apart. A long one leaves out the namespace of the
/// rule, which is that of the Event.
fn action(rule: &str) -> String {
    /// The API server refuses an Event with a longer one.
    const MAX_ACTION: usize = 128;
    let action = format!("Inject {rule}");
    match rule.rsplit_once('/') {
        Some((_, name)) if action.len() > MAX_ACTION => format!("Inject {name}"),
        _ => action,
    }
}

/// The note holds names and lines. Only a conflict is described by the sentence of its outcome, which consists of names; the
/// sentences of other outcomes may hold values of expressions and opt-in keys.
fn note(verdict: &Verdict, object: &str) -> String {
    let Verdict { rule, source, line, outcome, .. } = verdict;
    let place = diagnostic::place(source, *line);
    match outcome {
        Outcome::Skipped { reason: Reason::Conflict | Reason::JobWithoutNativeSidecar, sentence } => {
            format!("rule {rule} left {object} as it is: {sentence} ({place})")
        }
        Outcome::Skipped { reason, .. } => {
            format!("rule {rule} left {object} as it is: {reason} ({place}); `vestibule explain` tells more")
        }
        _ => format!("rule {rule} was applied to {object}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The API server refused the Event about a rule of a namespace if both have long names.
    #[test]
    fn an_action_has_at_most_the_length_that_the_api_server_takes() {
        let (namespace, name) = ("n".repeat(63), "r".repeat(63));
        let long = format!("{namespace}/{name}");
        let expected = format!("Inject {name}");
        for (rule, expected) in
            [("team", "Inject team"), ("shop/team", "Inject shop/team"), (&long, &expected)]
        {
            assert_eq!(action(rule), expected);
        }
    }
}
