//! The rules that a pod carries, as its status annotation names them.

use serde_json::Value;

use crate::rule::Rule;

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
    /// The rules that the text of the status annotation names. A text that no injector wrote names none. An annotation has a
    /// maximal length, so of very many rules the last are missing.
    ///
    /// ```
    /// use vestibule_rules::CarriedRule;
    ///
    /// let rules = CarriedRule::all(r#"{"v":1,"cfg":"92725cd31849","rules":["nginx@5063"],"add":[]}"#);
    /// assert_eq!((rules[0].name.as_str(), rules[0].version.as_str()), ("nginx", "5063"));
    /// assert!(CarriedRule::all("mine").is_empty());
    /// ```
    pub fn all(annotation: &str) -> Vec<Self> {
        let Ok(status) = serde_json::from_str::<Value>(annotation) else { return Vec::new() };
        let words = status["rules"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let rules = words.filter_map(|word| word.rsplit_once('@'));
        rules.map(|(name, version)| Self { name: name.to_owned(), version: version.to_owned() }).collect()
    }

    /// Whether this is the version of `rule`, a rule of the same name.
    pub fn is_of(&self, rule: &Rule) -> bool {
        self.version == rule.version()
    }
}
