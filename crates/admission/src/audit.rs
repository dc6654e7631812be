//! Audit annotations, with keys that kube-apiserver keeps.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

/// The longest key, in bytes: the name part of a qualified name (docs/apiserver.md, Answers).
const LONGEST: usize = 63;

/// Annotations for the API server's audit log, stored as `WEBHOOK/KEY`. The API server drops a key that is not a valid name part,
/// and only logs that; so invalid characters are replaced by `-`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AuditAnnotations(BTreeMap<String, String>);

impl AuditAnnotations {
    /// Sets `value` under `key`, and overwrites an earlier value. Never add secrets: many people can read audit logs.
    pub fn insert(&mut self, key: &str, value: impl Into<String>) {
        let key = name_part(key);
        if !key.is_empty() {
            self.0.insert(key, value.into());
        }
    }

    /// Whether there is no annotation.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The annotations, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn name_part(key: &str) -> String {
    let refused = |character: char| !(character.is_ascii_alphanumeric() || "-_.".contains(character));
    let key = if key.contains(refused) { key.replace(refused, "-").into() } else { Cow::Borrowed(key) };
    let key = key.trim_start_matches(|character: char| !character.is_ascii_alphanumeric());
    let key = &key[..key.len().min(LONGEST)];
    key.trim_end_matches(|character: char| !character.is_ascii_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_keys_become_name_parts() {
        for (given, kept) in [
            ("rules", "rules"),
            ("example.com/rules", "example.com-rules"),
            ("with space", "with-space"),
            ("_edge.", "edge"),
            ("größe", "gr--e"),
            ("/", ""),
        ] {
            assert_eq!(name_part(given), kept);
        }
        assert_eq!(name_part(&"x".repeat(64)), "x".repeat(63));
    }

    #[test]
    fn a_key_without_a_usable_character_is_left_out() {
        let mut audit = AuditAnnotations::default();
        audit.insert("//", "value");
        assert!(audit.is_empty());
    }

    #[test]
    fn the_last_value_of_an_audit_key_is_kept() {
        let mut audit = AuditAnnotations::default();
        for (key, value) in [("b", "1"), ("a/x", "2"), ("b", "3")] {
            audit.insert(key, value);
        }
        assert!(!audit.is_empty());
        assert_eq!(audit.iter().collect::<Vec<_>>(), [("a-x", "2"), ("b", "3")]);
    }
}
