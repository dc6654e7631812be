//! The audit annotations of an answer that reach the audit log.

use std::collections::BTreeMap;

use crate::outcome::AuditAnnotations;

/// The longest name part of a qualified name, in bytes.
const MAX_NAME: usize = 63;

pub(super) fn classify(hook_name: &str, annotations: BTreeMap<String, String>) -> AuditAnnotations {
    let mut sorted = AuditAnnotations::default();
    for (key, value) in annotations {
        if is_name_part(&key) {
            sorted.kept.insert(format!("{hook_name}/{key}"), value);
        } else {
            sorted.dropped.push(key);
        }
    }
    sorted
}

/// The name part of a qualified name: letters and digits, with `-`, `_` and `.` between them.
fn is_name_part(key: &str) -> bool {
    let ends = key.bytes().next().zip(key.bytes().last());
    key.len() <= MAX_NAME
        && ends.is_some_and(|(first, last)| first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_qualified_names_under_the_hooks_name() {
        let keys = ["rule", "a.b_C-9", "", "a/b", "a b", "-a", "a-", "ä"];
        let long = ["k".repeat(63), "k".repeat(64)];
        let all = keys.iter().map(ToString::to_string).chain(long);
        let sorted = classify("h.example.com", all.map(|key| (key, "v".to_owned())).collect());
        let kept: Vec<&str> = sorted.kept.keys().map(|key| &key["h.example.com/".len()..]).collect();
        assert_eq!(kept, ["a.b_C-9", "k".repeat(63).as_str(), "rule"]);
        assert_eq!(sorted.dropped.len(), 7);
    }
}
