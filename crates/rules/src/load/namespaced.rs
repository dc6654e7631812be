//! Findings about rules of namespaces: whether the settings allow them, and what they add.

use std::collections::HashMap;

use super::anchors;
use crate::diagnostic::{Diagnostic, NAMESPACED_PART, NAMESPACED_PLACE, Severity};
use crate::format;
use crate::namespaced::{MAX_NAMESPACED_BYTES, MAX_NAMESPACED_RULES, NamespacedBounds, part};
use crate::rule::Rule;
use crate::settings::Settings;

/// The findings about one rule, besides those of [`feedback`](super::feedback).
pub(super) fn findings(rule: &Rule, settings: &Settings) -> Vec<Diagnostic> {
    let mut findings = anchors::findings(std::slice::from_ref(rule));
    let Some(bounds) = &settings.namespaced else {
        // Parts that no settings allow are wrong anyway.
        findings.extend(refused_parts(rule, &widest_bounds()));
        return findings;
    };
    let length = rule.text.text.len();
    if length > MAX_NAMESPACED_BYTES {
        let message = format!(
            "the rule takes {length} bytes, and a rule of a namespace at most {MAX_NAMESPACED_BYTES}"
        );
        findings.push(rule.text.finding(&NAMESPACED_PLACE, rule.at, message));
    }
    findings.extend(refused_parts(rule, bounds));
    findings
}

/// The bounds of settings that allow everything that can be allowed.
fn widest_bounds() -> NamespacedBounds {
    let allowed = format::ALLOWED_PARTS.iter().map(|(word, ())| *word);
    NamespacedBounds { allowed: allowed.collect(), max_rules: MAX_NAMESPACED_RULES }
}

fn refused_parts(rule: &Rule, bounds: &NamespacedBounds) -> Vec<Diagnostic> {
    let refused = rule.parts().filter_map(|(destination, item)| {
        let why = part(&destination, item, bounds).err()?;
        Some(rule.text.finding(&NAMESPACED_PART, item.clause.at, why.to_string()).with_help(why.help()))
    });
    refused.collect()
}

/// The finding that the settings switch rules of namespaces off.
pub(super) fn switched_off(rule: &Rule, settings: &Settings, severity: Severity) -> Option<Diagnostic> {
    const MESSAGE: &str =
        "the InjectorSettings do not switch rules of namespaces on, so this rule is not in force";
    const HELP: &str =
        "an administrator sets `namespacedInjections: {allowedParts: [...]}` in the InjectorSettings";
    let finding = || rule.text.finding(&NAMESPACED_PLACE, rule.at, MESSAGE).with_severity(severity);
    settings.namespaced.is_none().then(|| finding().with_help(HELP))
}

/// Findings about rules from files. A rule that the settings switch off gets a warning, because the settings may be in another
/// place. A rule above the limit on their number is an error.
pub(super) fn too_many(all: &[Rule], settings: &Settings) -> Vec<Diagnostic> {
    let Some(bounds) = &settings.namespaced else {
        return all.iter().filter_map(|rule| switched_off(rule, settings, Severity::Warning)).collect();
    };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut findings = Vec::new();
    for (number, rule) in all.iter().enumerate() {
        let count = counts.entry(rule.namespace().unwrap_or_default()).or_default();
        *count += 1;
        if let Some(message) = bounds.exceeded_by(*count, number + 1) {
            findings.push(rule.text.finding(&NAMESPACED_PLACE, rule.at, message));
        }
    }
    findings
}
