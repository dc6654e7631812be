//! The table of cases of `docs/reference/injection-cases.md`: a test with the number of each row. Rows that need more than rules
//! and an object are tested in other packages.

mod conflicts;
mod container_positions;
mod documents;
mod patches;
mod selection;

use vestibule_rules::{NamespaceFacts, RuleSet};

use crate::kit::schema;

/// A rule of `examples/rules`, with `change` made to its text.
fn example(text: &str, change: (&str, &str)) -> RuleSet {
    let changed = text.replace(change.0, change.1);
    assert!(changed != text || change.0 == change.1, "{} is not in the example", change.0);
    RuleSet::load([("example.yaml", &*changed)], schema()).unwrap()
}

const AS_IT_IS: (&str, &str) = ("", "");

/// A namespace with one label.
fn labelled(key: &str, value: &str) -> NamespaceFacts {
    crate::kit::facts(&[(key, value)])
}
