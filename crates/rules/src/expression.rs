//! Expressions of the Common Expression Language (CEL): compiled when rules are loaded, evaluated for an object.
//!
//! `load` calls [`Expression::compile`] and [`Expression::check`]; `logic` evaluates with [`Expression::holds`] and
//! [`Expression::overlay`] in a [`Scope`]; `proof` asks for [`Expression::requirements`]. The syntax tree, values and most
//! functions come from the crate kube-cel. Parsing (docs/adr/0060) and evaluation (docs/adr/0027) are ours, so that both
//! have bounds: `budget` counts steps and bytes. Start with `parse`, then `interpret`, then `functions`.

mod budget;
mod compile;
mod compiled;
mod error;
mod functions;
mod interpret;
mod lint;
mod locate;
mod object_value;
mod parse;
mod pattern;
mod quantity;
mod requirements;
mod result;
mod scope;
mod types;
mod url;
mod values;

pub(crate) use budget::SharedBudget;
pub(crate) use compiled::{Expression, Variable};
pub(crate) use error::EvaluationError;
pub(crate) use lint::Declared;
pub(crate) use object_value::ObjectValue;
pub(crate) use pattern::Pattern;
pub(crate) use requirements::{ITEM, Requirement};
pub(crate) use scope::{RequestScope, Scope};
pub(crate) use types::{Mismatch, Type};
pub(crate) use values::text;

#[cfg(test)]
mod tests;
