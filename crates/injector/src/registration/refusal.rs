//! Required rules that fail closed for too many namespaces.

use vestibule_rules::diagnostic::code::{REQUIRED_EVERYWHERE, REQUIRED_IN_OWN_NAMESPACE};
use vestibule_rules::{Diagnostic, NAMESPACE_NAME, Rule, RuleSet};

/// The reasons why required rules among `rules` cannot be registered.
pub(super) fn findings(rules: &RuleSet) -> Vec<Diagnostic> {
    let settings = rules.settings();
    let own = rules.own_namespace().filter(|_| settings.own_namespace);
    let mut findings = Vec::new();
    for rule in rules.rules().iter().filter(|rule| rule.required()) {
        if !settings.required_everywhere && !rule.namespace_selector().asks_for_labels() {
            let message = format!(
                "rule `{}` is required in every namespace: while the injector is down, nothing would start there",
                rule.name()
            );
            let help = "ask for labels of namespaces by `match.namespaceSelector`, or set `requiredEverywhere: allow` in the \
                        InjectorSettings";
            findings.push(rule.finding(&REQUIRED_EVERYWHERE, message).with_help(help));
        }
        if let Some(own) = own.filter(|own| may_reach(rule, own)) {
            let message = format!(
                "rule `{}` is required, and may be for {own}, the injector's own namespace, which `ownNamespace: inject` \
                 opens to rules",
                rule.name()
            );
            let help = format!(
                "add `{{key: {NAMESPACE_NAME}, operator: NotIn, values: [{own}]}}` to `matchExpressions` of \
                 `match.namespaceSelector`, or take `required` away"
            );
            findings.push(rule.finding(&REQUIRED_IN_OWN_NAMESPACE, message).with_help(help));
        }
    }
    findings
}

/// Whether the rule may apply in `namespace`. The labels that a namespace will have are not known, so only names exclude it.
fn may_reach(rule: &Rule, namespace: &str) -> bool {
    rule.namespace_selector()
        .by_label()
        .get(NAMESPACE_NAME)
        .is_none_or(|names| names.contains(Some(namespace)))
}
