//! A report as text and as JSON.

use serde_json::{Value, json};
use vestibule_rules::diagnostic::printable;

use super::difference::{Difference, Lagging, Report, State};
use super::owner::{Owner, Restart};
use crate::render::counted;

/// The number of pods of a line that are named.
const NAMED: usize = 3;

/// A paragraph for each workload.
pub(super) fn text(report: &Report) -> String {
    let paragraphs = report.workloads.iter().map(|(owner, lagging)| paragraph(owner, lagging));
    paragraphs.collect::<Vec<_>>().join("\n")
}

/// The result in one line.
pub(super) fn summary(report: &Report) -> String {
    let pods: usize = report.workloads.values().map(|lagging| lagging.pods().len()).sum();
    match (report.workloads.len(), report.is_certain()) {
        (0, _) => format!("{}: each has the rules in force", counted(report.pods, "pod")),
        (workloads, is_certain) => {
            let uncertain = if is_certain { "" } else { "; whether they would be changed is uncertain" };
            let all = counted(report.pods, "pod");
            format!("{pods} of {all} lag, in {}{uncertain}", counted(workloads, "workload"))
        }
    }
}

/// The whole report. It holds names and no values of objects.
pub(super) fn json(report: &Report) -> Value {
    let workloads = report.workloads.iter().map(|(owner, lagging)| {
        let rules = lagging.differences.iter().map(|(Difference { rule, state, uncertain }, pods)| {
            json!({"rule": rule, "state": state.word(), "uncertain": uncertain, "pods": pods})
        });
        let (restart, advice) = match owner.restart() {
            Restart::Command(command) => (Some(command), None),
            Restart::Advice(advice) => (None, Some(advice)),
        };
        json!({
            "namespace": owner.namespace, "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name,
            "rules": rules.collect::<Vec<_>>(), "restart": restart, "advice": advice,
            "ephemeralContainers": lagging.ephemeral,
        })
    });
    json!({"pods": report.pods, "workloads": workloads.collect::<Vec<_>>()})
}

fn paragraph(owner: &Owner, lagging: &Lagging) -> String {
    let [namespace, kind, name] = [&owner.namespace, &owner.kind, &owner.name].map(|text| printable(text));
    let mut text = format!("{kind} {namespace}/{name}: {}\n", counted(lagging.pods().len(), "pod"));
    let rules = lagging.differences.keys().map(|difference| difference.rule.chars().count());
    let width = rules.max().unwrap_or_default();
    for (Difference { rule, state, uncertain }, pods) in &lagging.differences {
        let rule = printable(rule);
        let named = pods.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = match pods.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        text.push_str(&format!("  rule {rule:width$}  {:15}  {named}{more}\n", state.words()));
        if let Some(why) = uncertain {
            text.push_str(&format!("    uncertain: {why}\n"));
        }
    }
    for (pod, containers) in &lagging.ephemeral {
        let containers = containers.join(", ");
        text.push_str(&format!("  pod {pod} loses its ephemeral containers by a restart: {containers}\n"));
    }
    text.push_str(&match owner.restart() {
        Restart::Command(command) => format!("  {command}\n"),
        Restart::Advice(advice) => format!("  {advice}\n"),
    });
    text
}

impl State {
    /// The word for scripts.
    fn word(self) -> &'static str {
        match self {
            Self::Older => "older",
            Self::Removed => "removed",
            Self::NotInjected => "notInjected",
            Self::Denied => "denied",
            Self::NotApplicable => "notApplicable",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Older => "older version",
            Self::Removed => "removed",
            Self::NotInjected => "not injected",
            Self::Denied => "would be denied",
            Self::NotApplicable => "would not apply",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_an_owner_are_escaped() {
        let owner = Owner {
            namespace: "shop".to_owned(),
            api_version: "v1".to_owned(),
            kind: "Pod\u{1b}[2J".to_owned(),
            name: "web\n".to_owned(),
        };
        let text = paragraph(&owner, &Lagging::default());
        assert!(text.starts_with("Pod [2J shop/web : 0 pods\n"), "{text:?}");
    }
}
