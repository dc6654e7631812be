//! The types of expressions, as far as they are known before there is an object: those of parameters are declared, those of
//! variables follow from their expressions, and what is read of an object may be anything.
//!
//! Only what fails for every object is reported. What another part of a condition may outvote is reported too: it was not meant.

mod infer;
mod signatures;

use std::sync::Arc;

use kube_cel::cel::Value;

use super::{Expression, Variable, values};
use crate::overlay::Overlay;
use crate::parameter::{self, Parameter};
use infer::Checker;

/// So deep lists may hold lists whose items have a known type. Variables can nest them without end.
const MAX_DEPTH: usize = 4;

/// What kind of value an expression gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// That depends on the object.
    Any,
    /// No value: the items of an empty list.
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
    /// A quantity, a version or an address.
    Own,
    List(Box<Type>),
    Optional(Box<Type>),
}

/// A part of an expression that fails for every object.
pub(crate) struct Mismatch {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

impl Expression {
    /// Infers its type, in a rule with these parameters and the variables before it. Of what fails for every object the type is
    /// not known.
    pub(crate) fn check(&mut self, parameters: &[Parameter], variables: &[Variable]) -> Result<(), Mismatch> {
        self.gives = Checker::new(parameters, variables).check(&self.tree)?;
        Ok(())
    }

    /// A value such as this gives, where each of them has the same kind; what an optional holds.
    pub(crate) fn sample(&self) -> Option<Overlay> {
        // What text has to look like, only the text itself tells.
        match self.gives.text() {
            Some(text) => Some(text),
            None => values::overlay(&self.gives.sample()?, &self.field).ok().flatten(),
        }
    }

    /// Why it cannot be a condition.
    pub(crate) fn no_condition(&self) -> Option<Mismatch> {
        let given = match &self.gives {
            Type::Any | Type::Never | Type::Bool => return None,
            given => given.words(),
        };
        Some(Mismatch { message: format!("a condition is true or false, and this is {given}"), help: "" })
    }

    /// Why its field can hold none of its values.
    pub(crate) fn misfit(&self) -> Option<Mismatch> {
        let message =
            |kind: &str| format!("an expression gives single values and lists of them, and this is {kind}");
        let told = match &self.gives {
            given if given.text().is_some() => return None,
            given @ (Type::Own | Type::Duration) => message(given.words()),
            given => values::overlay(&given.sample()?, &self.field).err()?.sentence(),
        };
        let message = told.split_once("; ").map_or(told.as_str(), |(message, _)| message).to_owned();
        let single = !matches!(self.gives, Type::Map | Type::Null | Type::List(_) | Type::Optional(_));
        Some(Mismatch { message, help: if single { "string" } else { "" } })
    }
}

impl Type {
    pub(super) fn of_parameter(of: parameter::Type) -> Self {
        match of {
            parameter::Type::Int => Self::Int,
            parameter::Type::Bool => Self::Bool,
            parameter::Type::Duration
            | parameter::Type::Enum
            | parameter::Type::Quantity
            | parameter::Type::Text => Self::Text,
        }
    }

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

    /// What is known of a value that is one or the other.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, known) | (known, Self::Never) => known,
            (Self::List(one), Self::List(other)) => Self::list(one.or(*other)),
            (Self::Optional(one), Self::Optional(other)) => Self::optional(one.or(*other)),
            (one, other) if one == other => one,
            _ => Self::Any,
        }
    }

    /// Such a text, or list of texts; an optional may hold one.
    fn text(&self) -> Option<Overlay> {
        match self {
            Self::Text => Some(Overlay::Text("x".to_owned())),
            Self::List(item) => item.text().map(|item| Overlay::List(vec![item])),
            Self::Optional(inner) => inner.text(),
            _ => None,
        }
    }

    /// Such a value.
    fn sample(&self) -> Option<Value> {
        Some(match self {
            Self::Any | Self::Never | Self::Own | Self::Duration => return None,
            Self::Bool => Value::Bool(true),
            Self::Int => Value::Int(1),
            Self::Uint => Value::UInt(1),
            // Written without a fraction, it fits where whole numbers do.
            Self::Double => Value::Float(1.0),
            Self::Text => values::text("x"),
            Self::Bytes => Value::from(vec![b'x']),
            Self::Null => Value::Null,
            Self::Map => values::map([]),
            Self::List(item) => Value::List(Arc::new(vec![item.sample()?])),
            Self::Optional(inner) => inner.sample()?,
        })
    }

    /// What it is, for people.
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
            Self::Own => "a quantity, a version or an address",
            Self::List(_) => "a list",
            Self::Optional(_) => "optional",
        }
    }
}
