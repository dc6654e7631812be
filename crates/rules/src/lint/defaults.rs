//! Fields that the API server writes into each pod before it calls webhooks.

use super::LintedRule;
use crate::diagnostic::{Diagnostic, KEPT_DEFAULT};
use crate::rule::{OnConflict, Resource};

const OF_TEMPLATES: &[&str] =
    &["dnsPolicy", "restartPolicy", "schedulerName", "terminationGracePeriodSeconds"];

/// Fields that are written into pods, and not into the templates of workloads.
const OF_PODS: &[&str] = &["enableServiceLinks", "preemptionPolicy", "priority", "serviceAccountName"];

const OF_CONTAINERS: &[&str] = &["imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"];

const HELP: &str = "write `onConflict: override`, or name the field in `replace`";

pub(super) fn lint(linted: &LintedRule<'_>, findings: &mut Vec<Diagnostic>) {
    let is_for_pods = *linted.rule.targets() == [Resource::Pods];
    let of_spec = linted.rule.spec.iter().filter(|part| {
        let key = part.item.key.as_str();
        OF_TEMPLATES.contains(&key) || is_for_pods && OF_PODS.contains(&key)
    });
    let of_containers = linted.rule.blocks.iter().flat_map(|block| &block.parts);
    let of_containers = of_containers.filter(|part| OF_CONTAINERS.contains(&part.item.key.as_str()));
    let parts = of_spec.chain(of_containers);
    for part in parts.filter(|part| part.path.is_empty() && part.item.on_conflict == OnConflict::Keep) {
        let message = format!(
            "on a cluster the API server has set `{}` already, and the rule keeps that value",
            part.item.key
        );
        findings.push(linted.finding(&KEPT_DEFAULT, part.item.clause.at, message, HELP));
    }
}
