//! The types of expressions, which `check` infers when rules are loaded.

mod argument;

use std::sync::Arc;

use kube_cel::cel::Value;

use super::values;
pub(crate) use argument::Argument;

/// How deep lists and maps in each other keep the type of their items. Variables can nest lists without end.
const MAX_DEPTH: usize = 4;

/// The most types of which a map consists, if its members are known.
const MAX_MEMBERS: usize = 64;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// It depends on the object.
    Any,
    /// The items of an empty list: no value.
    Never,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Null,
    /// A map, with the members that are known.
    Map(Vec<(String, Type)>),
    /// A quantity, a version or a URL, of which no function makes text.
    Opaque,
    /// An IP address or a network of them.
    Address,
    List(Box<Type>),
    Optional(Box<Type>),
}

/// A part of an expression that fails for every object.
pub(crate) struct Mismatch {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

impl Type {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::Int(_) => Self::Int,
            Value::UInt(_) => Self::Uint,
            Value::Float(_) => Self::Double,
            Value::String(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Duration(_) => Self::Duration,
            Value::Null => Self::Null,
            Value::Map(_) => Self::Map(Vec::new()),
            Value::List(_) => Self::list(Self::Any),
            Value::Opaque(_) if values::as_optional(value).is_some() => Self::optional(Self::Any),
            Value::Opaque(_) | Value::Timestamp(_) | Value::Function(..) => Self::Any,
        }
    }

    pub(super) fn list(item: Self) -> Self {
        Self::List(Box::new(item.bounded()))
    }

    /// A map with these members. Of a large one the members are not known, because variables can nest maps without end.
    pub(super) fn map(members: Vec<(String, Self)>) -> Self {
        let known = Self::Map(members);
        let (depth, size) = known.extent();
        if size <= 1 + MAX_MEMBERS && depth <= MAX_DEPTH { known } else { Self::Map(Vec::new()) }
    }

    pub(super) fn optional(inner: Self) -> Self {
        Self::Optional(Box::new(inner.bounded()))
    }

    /// The type, unless it nests too deeply in another one.
    fn bounded(self) -> Self {
        if self.extent().0 < MAX_DEPTH { self } else { Self::Any }
    }

    /// How deeply it nests, and how many types it consists of.
    fn extent(&self) -> (usize, usize) {
        let around = |(depth, size): (usize, usize), inner: &Self| {
            let (below, more) = inner.extent();
            (depth.max(1 + below), size + more)
        };
        match self {
            Self::List(inner) | Self::Optional(inner) => around((1, 1), inner),
            Self::Map(members) => members.iter().map(|(_, known)| known).fold((1, 1), around),
            _ => (0, 1),
        }
    }

    /// The type of a value that has either type.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, known) | (known, Self::Never) => known,
            (Self::List(one), Self::List(other)) => Self::list(one.or(*other)),
            (Self::Optional(one), Self::Optional(other)) => Self::optional(one.or(*other)),
            (one, other) if one == other => one,
            (Self::Map(_), Self::Map(_)) => Self::Map(Vec::new()),
            _ => Self::Any,
        }
    }

    /// An example of a value.
    pub(super) fn sample(&self) -> Option<Value> {
        Some(match self {
            Self::Any | Self::Never | Self::Opaque | Self::Address | Self::Duration => return None,
            Self::Bool => Value::Bool(true),
            Self::Int => Value::Int(1),
            Self::Uint => Value::UInt(1),
            // It is written as `1`, which fits a field for whole numbers.
            Self::Double => Value::Float(1.0),
            Self::Text => values::text("x"),
            Self::Bytes => Value::from(vec![b'x']),
            Self::Null => Value::Null,
            Self::Map(members) => {
                values::map(members.iter().filter_map(|(name, known)| Some((name.clone(), known.sample()?))))
            }
            Self::List(item) => Value::List(Arc::new(vec![item.sample()?])),
            Self::Optional(inner) => inner.sample()?,
        })
    }

    /// The type in messages.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Any | Self::Never => "anything",
            Self::Bool => "a truth value",
            Self::Int | Self::Uint => "a whole number",
            Self::Double => "a number",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Duration => "a duration",
            Self::Null => "null",
            Self::Map(_) => "a map",
            Self::Opaque => "a quantity, a version or a URL",
            Self::Address => "an address",
            Self::List(_) => "a list",
            Self::Optional(_) => "optional",
        }
    }
}

/// The type of `value` in messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match Type::of(value) {
        Type::Any if values::is_too_deep(value) => "a value that nests too deeply to be read",
        Type::Any => "a value of its own kind",
        known => known.words(),
    }
}
