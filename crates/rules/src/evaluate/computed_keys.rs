//! Rules whose items have merge keys that expressions compute.

use std::collections::HashMap;

use vestibule_patch::Document;

use super::list_keys;
use crate::expression::{ObjectValue, RequestScope, Scope, SharedBudget};
use crate::parameter;
use crate::pod::Shape;
use crate::rule::Rule;
use crate::subject::{Received, Subject};

/// The rules that compute keys, with the values of their keys, by name. The keys are computed before any rule is applied,
/// because each rule depends on the names that the others inject. A rule whose keys have no value is not in the result: it fails
/// when it is applied, if its conditions hold.
pub(super) fn with_keys<'r>(
    rules: &[&'r Rule],
    subject: &Subject<'_>,
    received: &Received<'_>,
    document: &Document<'_>,
    shape: &Shape,
    total: &SharedBudget,
) -> HashMap<&'r str, Rule> {
    let request_scope = RequestScope::new(subject, document.view(), total);
    let keyed = |rule: &&'r Rule| {
        let parameters = parameter::values(&rule.logic.parameters, subject, received, total).ok()?;
        let object = ObjectValue::default();
        let scope = Scope::new(&request_scope, document.view(), &object, &parameters, &rule.logic.variables);
        Some((rule.name(), list_keys::with_keys(rule, &scope, shape).ok()?))
    };
    rules.iter().filter(|rule| rule.logic.computes_keys).filter_map(keyed).collect()
}
