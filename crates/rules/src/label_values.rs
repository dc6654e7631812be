//! The values that one label may have, as a set that several requirements and several rules combine.

use std::collections::BTreeSet;

/// The operator of a requirement, with the API server's meaning: an object without the label meets `NotIn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// A set of values of one label. The absence of the label is a member of the set or not, as a value is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelValues {
    listed: BTreeSet<String>,
    /// Whether the listed values are outside the set, and all others in it.
    excludes: bool,
    absent: bool,
}

/// Every value, and the absence of the label.
impl Default for LabelValues {
    fn default() -> Self {
        Self::all_but([])
    }
}

impl LabelValues {
    /// These values.
    pub fn only(values: impl IntoIterator<Item = String>) -> Self {
        Self { listed: values.into_iter().collect(), excludes: false, absent: false }
    }

    /// All other values, and the absence of the label.
    pub fn all_but(values: impl IntoIterator<Item = String>) -> Self {
        Self { listed: values.into_iter().collect(), excludes: true, absent: true }
    }

    /// Every value.
    pub fn any() -> Self {
        Self { absent: false, ..Self::default() }
    }

    /// The absence of the label.
    pub fn absent() -> Self {
        Self { absent: true, ..Self::only([]) }
    }

    /// The values in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (one, two) = (&self.listed, &other.listed);
        let listed = match (self.excludes, other.excludes) {
            (false, false) => one & two,
            (false, true) => one - two,
            (true, false) => two - one,
            (true, true) => one | two,
        };
        let excludes = self.excludes && other.excludes;
        Self { listed, excludes, absent: self.absent && other.absent }
    }

    /// The values in one set or both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.complement().and(&other.complement()).complement()
    }

    /// The values outside the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        Self { listed: self.listed.clone(), excludes: !self.excludes, absent: !self.absent }
    }

    /// Whether neither a value nor the absence of the label is in the set.
    pub fn is_empty(&self) -> bool {
        !self.excludes && self.listed.is_empty() && !self.absent
    }

    /// Whether the label must be there.
    pub fn is_required(&self) -> bool {
        !self.absent
    }

    /// Whether `value`, or with `None` the absence of the label, is in the set.
    pub fn contains(&self, value: Option<&str>) -> bool {
        value.map_or(self.absent, |value| self.listed.contains(value) != self.excludes)
    }

    /// The values, if they are few.
    pub fn listed(&self) -> Option<&BTreeSet<String>> {
        Some(&self.listed).filter(|_| !self.excludes)
    }

    /// The operators and values of the requirements that describe the set. A set of the absence of the label and of some values
    /// has none, since requirements cannot describe it.
    pub fn requirements(&self) -> Vec<(LabelOperator, Vec<String>)> {
        use LabelOperator::{DoesNotExist, Exists, In, NotIn};
        let listed: Vec<String> = self.listed.iter().cloned().collect();
        match (self.excludes, listed.is_empty(), self.absent) {
            (false, true, true) => vec![(DoesNotExist, listed)],
            (false, true, false) => vec![(Exists, Vec::new()), (DoesNotExist, listed)],
            (false, false, true) | (true, true, true) => Vec::new(),
            (false, false, false) => vec![(In, listed)],
            (true, true, false) => vec![(Exists, listed)],
            (true, false, true) => vec![(NotIn, listed)],
            (true, false, false) => vec![(Exists, Vec::new()), (NotIn, listed)],
        }
    }

    /// [`requirements`](Self::requirements) on the label `key` as kubectl writes them.
    pub fn terms(&self, key: &str) -> Vec<String> {
        self.requirements().iter().map(|(operator, values)| term(key, *operator, values)).collect()
    }
}

/// A requirement as kubectl writes it.
pub(crate) fn term(key: &str, operator: LabelOperator, values: &[String]) -> String {
    match (operator, values) {
        (LabelOperator::In, [value]) => format!("{key}={value}"),
        (LabelOperator::NotIn, [value]) => format!("{key}!={value}"),
        (LabelOperator::In, values) => format!("{key} in ({})", values.join(",")),
        (LabelOperator::NotIn, values) => format!("{key} notin ({})", values.join(",")),
        (LabelOperator::Exists, _) => key.to_owned(),
        (LabelOperator::DoesNotExist, _) => format!("!{key}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALUES: [Option<&str>; 4] = [None, Some(""), Some("a"), Some("b")];

    fn values() -> impl Strategy<Value = LabelValues> {
        let listed = prop::collection::btree_set(prop::sample::select(vec!["", "a", "b"]), 0..3);
        (listed, any::<bool>(), any::<bool>()).prop_map(|(listed, excludes, absent)| LabelValues {
            listed: listed.into_iter().map(str::to_owned).collect(),
            excludes,
            absent,
        })
    }

    proptest! {
        #[test]
        fn sets_combine_as_their_members_do(one in values(), two in values()) {
            for value in VALUES {
                let (here, there) = (one.contains(value), two.contains(value));
                prop_assert_eq!(one.and(&two).contains(value), here && there);
                prop_assert_eq!(one.or(&two).contains(value), here || there);
                prop_assert_eq!(one.complement().contains(value), !here);
                prop_assert!(!one.is_empty() || !here);
            }
        }

        /// Requirements may describe a larger set, and never a smaller one.
        #[test]
        fn requirements_hold_for_every_member(one in values()) {
            let sets: Vec<LabelValues> = one.requirements().into_iter().map(|(operator, values)| match operator {
                LabelOperator::In => LabelValues::only(values),
                LabelOperator::NotIn => LabelValues::all_but(values),
                LabelOperator::Exists => LabelValues::any(),
                LabelOperator::DoesNotExist => LabelValues::absent(),
            }).collect();
            let exact = !(one.absent && !one.excludes && !one.listed.is_empty());
            for value in VALUES {
                let holds = sets.iter().all(|set| set.contains(value));
                prop_assert!(holds || !one.contains(value));
                prop_assert!(!exact || holds == one.contains(value));
            }
        }
    }
}
