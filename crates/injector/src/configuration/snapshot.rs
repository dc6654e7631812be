//! What is in force at one moment.

use vestibule_rules::RuleSet;

/// All rules as they are in force together: every call is decided by one of these, from its first byte to its last.
pub struct Snapshot {
    rules: RuleSet,
    required: RuleSet,
    best_effort: RuleSet,
}

impl Snapshot {
    /// A snapshot of `rules`.
    pub fn new(rules: RuleSet) -> Self {
        let (required, best_effort) = rules.clone().split_required();
        Self { rules, required, best_effort }
    }

    /// All rules.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The required ones, of the hook that fails closed.
    pub fn required(&self) -> &RuleSet {
        &self.required
    }

    /// The others, of the hook that fails open.
    pub fn best_effort(&self) -> &RuleSet {
        &self.best_effort
    }
}
