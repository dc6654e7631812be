//! CEL values, from JSON and from parts.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map, Opaque, OptionalValue};
use vestibule_patch::{Kind, View};

/// How deep lists and maps may nest in each other. In JSON, deeper ones become [`TooDeep`].
pub(super) const MAX_DEPTH: usize = 160;

/// The value of JSON. Members that are null are absent, as in the API server.
pub(super) fn value(view: View<'_>) -> Value {
    value_at_depth(view, 0)
}

// Recursion is bounded by MAX_DEPTH.
fn value_at_depth(view: View<'_>, depth: usize) -> Value {
    match view.kind() {
        Kind::Null => Value::Null,
        Kind::Bool => Value::Bool(view.as_bool().unwrap_or_default()),
        Kind::String => text(&view.as_str().unwrap_or_default()),
        Kind::Array | Kind::Object if depth >= MAX_DEPTH => Value::Opaque(Arc::new(TooDeep)),
        Kind::Array => list(view.items().into_iter().map(|item| value_at_depth(item, depth + 1)).collect()),
        Kind::Object => {
            let members = view.entries().into_iter().filter(|(_, member)| !member.is_null());
            map(members.map(|(name, member)| (name.into_owned(), value_at_depth(member, depth + 1))))
        }
        Kind::Number => {
            let json = view.to_json();
            let whole = json.parse().map(Value::Int).or_else(|_| json.parse().map(Value::UInt));
            whole.unwrap_or_else(|_| Value::Float(json.parse().unwrap_or(f64::NAN)))
        }
    }
}

/// A list or map below [`MAX_DEPTH`]. A comparison reads both sides first, which fails for this value.
#[derive(Debug, PartialEq, Eq)]
struct TooDeep;

impl Opaque for TooDeep {
    fn runtime_type_name(&self) -> &str {
        "vestibule.TooDeep"
    }
}

pub(super) fn is_too_deep(value: &Value) -> bool {
    as_opaque::<TooDeep>(value).is_some()
}

pub(crate) fn text(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

pub(super) fn list(items: Vec<Value>) -> Value {
    Value::List(Arc::new(items))
}

pub(crate) fn map(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let members = members.into_iter().map(|(name, value)| (Key::from(name), value));
    Value::Map(Map { map: Arc::new(members.collect::<HashMap<_, _>>()) })
}

pub(super) fn optional(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

/// The content of `value`, if it is optional.
pub(super) fn as_optional(value: &Value) -> Option<Option<&Value>> {
    <&OptionalValue>::try_from(value).ok().map(OptionalValue::value)
}

/// The value without the optionals around it; `None` where one of them is empty.
// Recursion is bounded by the depth of an expression.
pub(super) fn content(value: &Value) -> Option<&Value> {
    match as_optional(value) {
        Some(inner) => content(inner?),
        None => Some(value),
    }
}

/// The value, if it is an opaque value of type `T`.
pub(super) fn as_opaque<T: Opaque>(value: &Value) -> Option<&T> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref()
}

/// The sorted keys of a map.
pub(super) fn keys(map: &Map) -> Vec<Value> {
    let mut keys: Vec<&Key> = map.map.keys().collect();
    keys.sort_unstable();
    keys.into_iter().map(Value::from).collect()
}
