//! Label selectors, as the API server has them: requirements on labels, all of which must hold.
//!
//! `match`, exemptions and registration use the one type [`LabelSelector`]; the API server's fields are `matchLabels` and
//! `matchExpressions`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Position;
use crate::label_values::{LabelOperator, LabelValues, term};

/// The label that the API server gives every namespace: its name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// A `LabelSelector`. An empty one selects everything.
#[derive(Clone)]
pub struct LabelSelector {
    pub(crate) at: Position,
    pub(crate) requirements: Vec<LabelRequirement>,
}

/// An entry of `matchLabels` or `matchExpressions`.
#[derive(Clone)]
pub struct LabelRequirement {
    pub(crate) key: String,
    pub(crate) operator: LabelOperator,
    /// In the order of the document; empty for `Exists` and `DoesNotExist`.
    pub(crate) values: Vec<String>,
    pub(crate) at: Position,
    /// The sentence for an object that does not meet it. It is formatted once, because most objects do not match.
    pub(crate) unmet: Arc<str>,
}

impl LabelSelector {
    pub(crate) fn everything(at: Position) -> Self {
        Self { at, requirements: Vec::new() }
    }

    /// Its requirements: first `matchLabels`, then `matchExpressions`.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether it asks for a label to be there: by `matchLabels`, `In` or `Exists`. Without such a requirement it selects
    /// objects without labels.
    pub fn asks_for_labels(&self) -> bool {
        use LabelOperator::{Exists, In};
        self.requirements.iter().any(|requirement| matches!(requirement.operator, In | Exists))
    }

    /// For each label of a requirement the values that it may have.
    pub fn by_label(&self) -> BTreeMap<String, LabelValues> {
        let mut by_label = BTreeMap::<String, LabelValues>::new();
        for requirement in &self.requirements {
            let values = by_label.entry(requirement.key.clone()).or_default();
            *values = values.and(&requirement.values());
        }
        by_label
    }

    /// Whether it asks for another label of a namespace than the one that is known without the namespace: its name.
    pub(crate) fn needs_namespace_facts(&self) -> bool {
        self.requirements.iter().any(|requirement| requirement.key != NAMESPACE_NAME)
    }

    /// The first requirement that `label` does not meet. `label` gives the value of a key.
    pub(crate) fn unmet<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&LabelRequirement> {
        self.requirements.iter().find(|requirement| !requirement.is_met_by(label(&requirement.key)))
    }
}

impl LabelRequirement {
    pub(crate) fn new(key: String, operator: LabelOperator, values: Vec<String>, at: Position) -> Self {
        let mut requirement = Self { key, operator, values, at, unmet: Arc::default() };
        requirement.unmet = requirement.unmet_by("the object").into();
        requirement
    }

    /// The sentence for `object`, which does not meet it.
    pub(crate) fn unmet_by(&self, object: &str) -> String {
        match self.operator {
            LabelOperator::In | LabelOperator::Exists => format!("{object} has no label {self}"),
            LabelOperator::NotIn | LabelOperator::DoesNotExist => {
                format!("{object} does not meet `{self}` with its label {}", self.key)
            }
        }
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values of the label that meet it.
    pub fn values(&self) -> LabelValues {
        let values = self.values.iter().cloned();
        match self.operator {
            LabelOperator::In => LabelValues::only(values),
            LabelOperator::NotIn => LabelValues::all_but(values),
            LabelOperator::Exists => LabelValues::any(),
            LabelOperator::DoesNotExist => LabelValues::absent(),
        }
    }

    pub(crate) fn is_met_by(&self, value: Option<&str>) -> bool {
        let is_listed = |value: &str| self.values.iter().any(|one| one == value);
        match self.operator {
            LabelOperator::In => value.is_some_and(is_listed),
            LabelOperator::NotIn => !value.is_some_and(is_listed),
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
        }
    }
}

/// In kubectl's form: `team=blue, tier notin (a,b), !canary`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(formatter, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// In kubectl's form: `tier notin (a,b)`.
impl fmt::Display for LabelRequirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&term(&self.key, self.operator, &self.values))
    }
}
