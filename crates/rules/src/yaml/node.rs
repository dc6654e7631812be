//! Values of a document, each with the location where it starts.

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use super::{Position, quote, scalar, write_items};

/// A value and its location.
#[derive(Clone)]
pub struct Node {
    pub(super) at: Position,
    /// Its bytes in the text, without the comments and blank lines after it; empty in JSON.
    pub(crate) range: Range<usize>,
    /// Whether it is a list or map in brackets.
    pub(crate) flow: bool,
    pub(super) value: Value,
}

/// The content of a [`Node`].
#[derive(Clone)]
pub enum Value {
    /// A scalar that is not resolved yet: text, a number, a boolean or null.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text.
    Map(Vec<Entry>),
}

/// A scalar as it was written.
#[derive(Clone)]
pub struct Scalar {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// One key of a map with its value.
#[derive(Clone)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The location of the key.
    pub at: Position,
    /// The bytes of the key in the text.
    pub(crate) range: Range<usize>,
    /// Whether the key is in quotes.
    pub(super) quoted: bool,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The location of the value; for a block map, of its first key.
    pub fn at(&self) -> Position {
        self.at
    }

    /// The value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value of the member `key`, if this is a map that has one.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The value at a path of members.
    ///
    /// ```
    /// let documents = vestibule_rules::yaml::read("pod.yaml", "metadata: {name: web}\n").unwrap();
    /// let name = documents[0].root().find(&["metadata", "name"]);
    /// assert_eq!(name.and_then(|name| name.as_text()), Some("web"));
    /// ```
    pub fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The text of the member `key`.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|node| !node.is_null())?.as_text()
    }

    /// The texts in the list `key`.
    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        self.items(key).iter().filter_map(Self::as_text).map(str::to_owned).collect()
    }

    /// The items of the list `key`.
    pub(crate) fn items(&self, key: &str) -> &[Node] {
        self.get(key).and_then(Self::as_list).unwrap_or_default()
    }

    /// The boolean `key`.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.parsed()
    }

    /// The whole number `key`.
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        self.get(key)?.parsed()
    }

    /// A boolean or number; `None` if the scalar is in quotes or resolves to something else.
    pub(crate) fn parsed<T: FromStr>(&self) -> Option<T> {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_json().parse().ok(),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The unresolved text of a scalar.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            Value::Scalar(_) | Value::Map(_) => None,
        }
    }

    /// The members, if this is a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Scalar(_) | Value::List(_) => None,
        }
    }

    /// Whether this is `{}` or `[]`.
    pub(super) fn is_empty_flow(&self) -> bool {
        self.flow
            && self.as_list().unwrap_or_default().is_empty()
            && self.as_map().unwrap_or_default().is_empty()
    }

    /// Whether this is a scalar that resolves to null.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.to_json() == "null")
    }

    /// The value as JSON.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        self.write_json(&mut json, scalar::resolve, |entry| Cow::Borrowed(&entry.key));
        json
    }

    /// The value as JSON. Plain scalars are resolved by YAML 1.1 as in `kubectl`: `yes` and `on` are true, and `on` as a key is
    /// `"true"`.
    ///
    /// ```
    /// let documents = vestibule_rules::yaml::read("pod.yaml", "stdin: yes\n").unwrap();
    /// assert_eq!(documents[0].to_kubectl_json(), r#"{"stdin":true}"#);
    /// assert_eq!(documents[0].to_json(), r#"{"stdin":"yes"}"#);
    /// ```
    pub fn to_kubectl_json(&self) -> String {
        let mut json = String::new();
        self.write_json(&mut json, scalar::resolve_as_kubectl, Entry::key_as_kubectl);
        json
    }

    // Recursion is bounded: the parser refuses nesting deeper than MAX_DEPTH.
    fn write_json(&self, json: &mut String, resolve: fn(&str) -> String, key: fn(&Entry) -> Cow<'_, str>) {
        match &self.value {
            Value::Scalar(scalar) => json.push_str(&scalar.resolved(resolve)),
            Value::List(items) => write_items(json, ['[', ']'], items, |json, item| {
                item.write_json(json, resolve, key);
            }),
            Value::Map(entries) => write_items(json, ['{', '}'], entries, |json, entry| {
                json.push_str(&quote(&key(entry)));
                json.push(':');
                entry.value.write_json(json, resolve, key);
            }),
        }
    }
}

impl Entry {
    /// A plain boolean or whole number as a key is the text of its value. Fractions keep their digits.
    fn key_as_kubectl(&self) -> Cow<'_, str> {
        let resolved = Some(&self.key).filter(|_| !self.quoted).map(|key| scalar::resolve_as_kubectl(key));
        let is_whole = |json: &String| json.parse::<bool>().is_ok() || json.parse::<i64>().is_ok();
        resolved.filter(is_whole).map_or(Cow::Borrowed(&self.key), Cow::Owned)
    }
}

impl Scalar {
    /// The text with escapes resolved.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The resolved value as JSON.
    pub fn to_json(&self) -> String {
        self.resolved(scalar::resolve)
    }

    fn resolved(&self, resolve: fn(&str) -> String) -> String {
        if self.quoted { quote(&self.text) } else { resolve(&self.text) }
    }
}
