//! Findings about rules of namespaces: whether the settings allow them, and what they add.

use std::collections::HashMap;

use super::{LoadedRule, anchors, feedback};
use crate::diagnostic::{Diagnostic, NAMESPACED_PART, NAMESPACED_PLACE, Severity};
use crate::namespaced::{MAX_NAMESPACED_RULES, NamespacedBounds, part};
use crate::rule::Rule;
use crate::settings::Settings;

/// The findings about one rule. `rules` are those of the cluster.
pub(super) fn findings<'l>(
    loaded: &'l LoadedRule,
    rules: impl IntoIterator<Item = &'l Rule>,
    settings: &'l Settings,
) -> Vec<Diagnostic> {
    let LoadedRule { rule, source } = loaded;
    let mut findings = feedback::findings([rule], rules, settings);
    findings.extend(anchors::findings(std::slice::from_ref(loaded)));
    let Some(bounds) = &settings.namespaced else {
        // Parts that no settings allow are wrong anyway.
        findings.extend(refused_parts(loaded, &NamespacedBounds::widest()));
        return findings;
    };
    if source.text.len() > MAX_BYTES {
        let message = format!(
            "the rule takes {} bytes, and a rule of a namespace at most {MAX_BYTES}",
            source.text.len()
        );
        findings.push(source.error(&NAMESPACED_PLACE, rule.at, message));
    }
    findings.extend(refused_parts(loaded, bounds));
    findings
}

/// The longest text of a rule of a namespace.
const MAX_BYTES: usize = 64 * 1024;

fn refused_parts(loaded: &LoadedRule, bounds: &NamespacedBounds) -> Vec<Diagnostic> {
    let LoadedRule { rule, source } = loaded;
    let refused = rule.parts().filter_map(|(destination, item)| {
        let why = part(&destination, item, bounds).err()?;
        Some(source.error(&NAMESPACED_PART, item.clause.at, why.to_string()).with_help(why.help()))
    });
    refused.collect()
}

/// The finding that the settings switch rules of namespaces off.
pub(super) fn switched_off(
    loaded: &LoadedRule,
    settings: &Settings,
    severity: Severity,
) -> Option<Diagnostic> {
    const MESSAGE: &str =
        "the InjectorSettings do not switch rules of namespaces on, so this rule is not in force";
    const HELP: &str =
        "an administrator sets `namespacedInjections: {allowedParts: [...]}` in the InjectorSettings";
    let LoadedRule { rule, source } = loaded;
    let finding = || match severity {
        Severity::Error => source.error(&NAMESPACED_PLACE, rule.at, MESSAGE),
        Severity::Warning | Severity::Hint => source.warning(&NAMESPACED_PLACE, rule.at, MESSAGE),
    };
    settings.namespaced.is_none().then(|| finding().with_help(HELP))
}

/// In files, where the settings may be elsewhere, rules that are switched off are warned about. Rules beyond the bounds on their
/// number are errors.
pub(super) fn too_many(all: &[LoadedRule], settings: &Settings) -> Vec<Diagnostic> {
    let Some(bounds) = &settings.namespaced else {
        return all.iter().filter_map(|loaded| switched_off(loaded, settings, Severity::Warning)).collect();
    };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut findings = Vec::new();
    for (number, LoadedRule { rule, source }) in all.iter().enumerate() {
        let count = counts.entry(rule.namespace().unwrap_or_default()).or_default();
        *count += 1;
        if let Some(message) = bounds.exceeded_by(*count, number + 1) {
            findings.push(source.error(&NAMESPACED_PLACE, rule.at, message));
        }
    }
    findings
}

impl NamespacedBounds {
    /// The message for the rule with which a namespace has `of_namespace` rules, and all namespaces together have `of_all`.
    pub fn exceeded_by(&self, of_namespace: usize, of_all: usize) -> Option<String> {
        if of_namespace > self.max_rules {
            return Some(format!("the namespace has more than {} rules", self.max_rules));
        }
        (of_all > MAX_NAMESPACED_RULES)
            .then(|| format!("all namespaces together have more than {MAX_NAMESPACED_RULES} rules"))
    }
}
