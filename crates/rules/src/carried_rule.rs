//! The rules that a pod carries, as its status annotation names them.

use std::collections::HashSet;

use serde_json::Value;

use crate::rule::Rule;

/// The longest name of a rule in characters: `NAMESPACE/NAME`.
const MAX_NAME: usize = 63 + 1 + 253;
/// The length of [`Rule::version`].
const VERSION: usize = 4;

/// A rule that a pod carries, in the version that was in force when the pod was created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CarriedRule {
    /// The name of the rule; of a rule of a namespace `NAMESPACE/NAME`.
    pub name: String,
    /// See [`Rule::version`].
    pub version: String,
}

impl CarriedRule {
    /// The rules that the text of the status annotation names. A text of another form gives no rules. An annotation has a maximal
    /// length, so the last rules are missing if a pod has very many. A repeated name, and a name or version of a length that no rule
    /// can have, are skipped: a user who may create pods can write the annotation.
    ///
    /// ```
    /// use vestibule_rules::CarriedRule;
    ///
    /// let rules = CarriedRule::all(r#"{"v":1,"cfg":"92725cd31849","rules":["nginx@5063"],"add":[]}"#);
    /// assert_eq!((rules[0].name.as_str(), rules[0].version.as_str()), ("nginx", "5063"));
    /// assert!(CarriedRule::all("mine").is_empty());
    /// assert_eq!(CarriedRule::all(r#"{"rules":["a@5063","a@0000","b@1"]}"#).len(), 1);
    /// ```
    pub fn all(annotation: &str) -> Vec<Self> {
        let Ok(status) = serde_json::from_str::<Value>(annotation) else { return Vec::new() };
        let words = status["rules"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut seen = HashSet::new();
        let rules = words.filter_map(|word| word.rsplit_once('@'));
        let rules = rules.filter(|(name, version)| name.len() <= MAX_NAME && version.len() == VERSION);
        let rules = rules.filter(|(name, _)| seen.insert(*name));
        rules.map(|(name, version)| Self { name: name.to_owned(), version: version.to_owned() }).collect()
    }

    /// Whether this is the version of `rule`, a rule of the same name.
    pub fn is_of(&self, rule: &Rule) -> bool {
        self.version == rule.version()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_carries_each_rule_once_under_a_name_that_a_rule_can_have() {
        let longest = "a".repeat(MAX_NAME);
        let words =
            ["team@0000", "team@0000", "team@1111", "b@12345", "c@", "@@", &format!("a{longest}@0000")];
        let annotation = |words: &[&str]| serde_json::json!({"rules": words}).to_string();
        let team = CarriedRule { name: "team".to_owned(), version: "0000".to_owned() };
        assert_eq!(CarriedRule::all(&annotation(&words)), [team]);
        assert_eq!(CarriedRule::all(&annotation(&[&format!("{longest}@0000")]))[0].name, longest);
    }
}
