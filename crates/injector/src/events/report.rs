//! What an owner is told.

use k8s_openapi::api::core::v1::ObjectReference;
use vestibule::identity::events::Report;
use vestibule_rules::{Decision, Mode, Outcome, Reason, Verdict};

use crate::Asked;
use crate::observer::Owner;

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Injected,
    Skipped,
    Conflict,
}

/// What is to be told of `decision`: of a dry run nothing, and nothing of what is only observed.
pub(super) fn of(decision: &Decision, asked: &Asked<'_>) -> Vec<Report> {
    let settings = asked.settings();
    if asked.dry_run() || settings.mode() != Mode::On || decision.denial().is_some() {
        return Vec::new();
    }
    let told = |verdict: &&Verdict| {
        what(verdict).is_some_and(|what| what != What::Injected || settings.success_events())
    };
    let verdicts: Vec<&Verdict> = decision.verdicts.iter().filter(told).collect();
    if verdicts.is_empty() || asked.namespace().is_empty() {
        return Vec::new();
    }
    // Read from the object only now: most decisions are nobody's news.
    let Some(owner) = asked.owner().filter(Owner::is_plausible) else { return Vec::new() };
    let object = match asked.name() {
        Some(name) => format!("{} {name}", asked.resource().kind()),
        None => format!("a {}", asked.resource().kind()),
    };
    let Owner { api_version, kind, name, uid } = owner;
    let about = ObjectReference {
        api_version: Some(api_version),
        kind: Some(kind),
        name: Some(name),
        uid: Some(uid),
        namespace: Some(asked.namespace().to_owned()),
        ..ObjectReference::default()
    };
    let report = |verdict: &Verdict| {
        let what = what(verdict)?;
        Some(Report {
            about: about.clone(),
            is_warning: what != What::Injected,
            reason: what.reason(),
            // Of two rules each gets an Event of its own.
            action: format!("Inject {}", verdict.rule),
            note: note(verdict, &object),
        })
    };
    verdicts.into_iter().filter_map(report).collect()
}

impl What {
    fn reason(self) -> &'static str {
        match self {
            Self::Injected => "Injected",
            Self::Skipped => "InjectionSkipped",
            Self::Conflict => "InjectionConflict",
        }
    }
}

impl Owner {
    /// Whoever makes a pod may name any owner. What no API server would call an object is not passed on to one.
    fn is_plausible(&self) -> bool {
        let plain = |text: &str, more: &[char]| {
            (1..=253).contains(&text.len())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(&c))
        };
        plain(&self.kind, &[])
            && plain(&self.name, &['-', '.'])
            && plain(&self.uid, &['-'])
            && plain(&self.api_version, &['-', '.', '/'])
    }
}

/// What is worth an Event: what somebody wanted and did not get. A denial is told by whoever was denied.
fn what(verdict: &Verdict) -> Option<What> {
    match &verdict.outcome {
        Outcome::Applied => Some(What::Injected),
        Outcome::Skipped { reason: Reason::Conflict, .. } => Some(What::Conflict),
        Outcome::Skipped { reason, .. } if reason.is_unexpected() => Some(What::Skipped),
        _ => None,
    }
}

/// Names and lines. Only what stands in the way is told in its own words, which are names as well; what expressions and
/// opt-in keys hold may be anything.
fn note(verdict: &Verdict, object: &str) -> String {
    let Verdict { rule, source, line, outcome, .. } = verdict;
    match outcome {
        Outcome::Skipped { reason: Reason::Conflict | Reason::JobWithoutNativeSidecar, sentence } => {
            format!("rule {rule} left {object} as it is: {sentence} ({source}:{line})")
        }
        Outcome::Skipped { reason, .. } => {
            format!(
                "rule {rule} left {object} as it is: {reason} ({source}:{line}); `vestibule explain` tells more"
            )
        }
        _ => format!("rule {rule} was applied to {object}"),
    }
}
