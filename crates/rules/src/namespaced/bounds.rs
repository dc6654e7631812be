//! The bounds of rules of namespaces.

/// The number of rules that all namespaces together may have.
pub(crate) const MAX_NAMESPACED_RULES: usize = 1_000;

/// `spec.namespacedInjections` of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedBounds {
    /// Words of `allowedParts`.
    pub(crate) allowed: Vec<&'static str>,
    pub(crate) max_rules: usize,
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
