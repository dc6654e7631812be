//! Infers the types of expressions when rules are loaded. Parameters have declared types, variables the types of their
//! expressions; a field of an object may have any type.
//!
//! Only a part that fails for every object is reported. It is reported even where `||` or `&&` would ignore the error.

mod checks;
mod infer;
mod signatures;

use std::sync::Arc;

use kube_cel::cel::Value;

use super::values;
pub(crate) use infer::Mismatch;
pub(super) use signatures::{Argument, ResultType};

/// How deep lists in lists keep the type of their items. Variables can nest lists without end.
const MAX_DEPTH: usize = 4;

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
    Map,
    /// A quantity, a version, an address or a URL.
    Opaque,
    List(Box<Type>),
    Optional(Box<Type>),
}

impl Type {
    fn list(item: Self) -> Self {
        if item.depth() < MAX_DEPTH { Self::List(Box::new(item)) } else { Self::List(Box::new(Self::Any)) }
    }

    fn optional(inner: Self) -> Self {
        if inner.depth() < MAX_DEPTH {
            Self::Optional(Box::new(inner))
        } else {
            Self::Optional(Box::new(Self::Any))
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::List(inner) | Self::Optional(inner) => 1 + inner.depth(),
            _ => 0,
        }
    }

    /// The type of a value that has either type.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, known) | (known, Self::Never) => known,
            (Self::List(one), Self::List(other)) => Self::list(one.or(*other)),
            (Self::Optional(one), Self::Optional(other)) => Self::optional(one.or(*other)),
            (one, other) if one == other => one,
            _ => Self::Any,
        }
    }

    /// An example of a value.
    fn sample(&self) -> Option<Value> {
        Some(match self {
            Self::Any | Self::Never | Self::Opaque | Self::Duration => return None,
            Self::Bool => Value::Bool(true),
            Self::Int => Value::Int(1),
            Self::Uint => Value::UInt(1),
            // It is written as `1`, which fits a field for whole numbers.
            Self::Double => Value::Float(1.0),
            Self::Text => values::text("x"),
            Self::Bytes => Value::from(vec![b'x']),
            Self::Null => Value::Null,
            Self::Map => values::map([]),
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
            Self::Map => "a map",
            Self::Opaque => "a quantity, a version or an address",
            Self::List(_) => "a list",
            Self::Optional(_) => "optional",
        }
    }
}
