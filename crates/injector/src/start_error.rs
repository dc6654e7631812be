//! The reason for which rules cannot be served.

use vestibule_rules::RuleSet;

/// Why rules cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Rules need the labels of namespaces. A review does not carry them, and no other source was given.
    #[error(
        "these rules ask for labels of namespaces, which a review does not carry: {}; say them with \
         --namespace-labels k=v,... (for every namespace); `serve` can also ask the cluster of --kubeconfig FILE",
        rules.join(", ")
    )]
    NamespacesUnknown {
        /// The rules that need labels.
        rules: Vec<String>,
    },
}

impl StartError {
    /// The error that names the rules which need labels of namespaces; [`None`] if none does.
    pub fn of_rules(rules: &RuleSet) -> Option<Self> {
        let needing = rules.rules().iter().filter(|rule| rule.needs_namespace_facts());
        let mut needing: Vec<String> = needing.map(|rule| rule.name().to_owned()).collect();
        if needing.is_empty() {
            needing.push("the exemptions of InjectorSettings".to_owned());
        }
        (rules.needs_namespace_facts()).then_some(Self::NamespacesUnknown { rules: needing })
    }
}
