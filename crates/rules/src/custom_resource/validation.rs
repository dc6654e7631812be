//! Rules of the format in CEL, which the API server checks itself.

use serde_json::{Value, json};

use crate::format::{self, Table};

/// The most items of a list. The API server limits the cost of CEL by the length of lists; no rule needs as many.
pub(super) const MAX_ITEMS: u32 = 256;

/// The rules about `metadata.name`: the key of an annotation ends with it.
pub(super) fn of_name() -> Value {
    rules(&[(
        "self.metadata.name.size() <= 63 && !self.metadata.name.contains('.')",
        "metadata.name has at most 63 lower-case letters, digits and `-`: the key of an annotation ends with it",
    )])
}

/// The rules about a map of the format; [`None`] where there are none.
pub(super) fn of(table: &'static Table, namespaced: bool) -> Option<Value> {
    let is = |other: &'static Table| std::ptr::eq(table, other);
    let found: &[(&str, &str)] = if is(&format::SPEC) {
        // The rules read fields that a rule of a namespace does not have.
        if namespaced {
            return None;
        }
        &[
            (
                "!(has(self.required) && self.required && has(self.onError) && self.onError == 'skip')",
                "`required: true` and `onError: skip` contradict each other",
            ),
            (
                "!(has(self.required) && self.required && has(self.onConflict) && self.onConflict == 'skipRule')",
                "`required: true` and `onConflict: skipRule` contradict each other",
            ),
        ]
    } else if is(&format::ROLLOUT) {
        &[("self.percent >= 0 && self.percent <= 100", "`percent` is a number from 0 to 100")]
    } else if is(&format::SELECT) {
        &[(
            "[has(self.all), has(self.names), has(self.images), has(self.index)].exists_one(given, given)",
            "`select` has exactly one of `all: true`, `names`, `images` and `index`",
        )]
    } else if is(&format::PARAMETER) {
        &[
            // CEL reads no field that accepts several types, as `default` and `values` do.
            ("self.type == 'string' || !has(self.pattern)", "`pattern` is for `type: string`"),
        ]
    } else if is(&format::EXEMPTION) {
        &[(
            "has(self.namespaceSelector) || has(self.objectSelector) || has(self.users)",
            "an exemption without a condition would exempt everything: to switch the injector off, set `mode: \"off\"`",
        )]
    } else if is(&format::LABEL_REQUIREMENT) {
        &[(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            "`In` and `NotIn` need `values`, and other operators have none",
        )]
    } else if is(&format::REMOVAL) {
        return Some(
            json!([{"rule": exactly_one(table), "message": "an item of `remove` has exactly one member"}]),
        );
    } else {
        return None;
    };
    Some(rules(found))
}

fn exactly_one(table: &Table) -> String {
    let given: Vec<_> = table.names().into_iter().map(|name| format!("has(self.{name})")).collect();
    format!("[{}].exists_one(given, given)", given.join(", "))
}

fn rules(found: &[(&str, &str)]) -> Value {
    found.iter().map(|(rule, message)| json!({"rule": rule, "message": message})).collect()
}
