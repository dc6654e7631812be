//! Expressions of the Common Expression Language (CEL): compiled when rules are loaded, evaluated for an object.
//!
//! `load` calls [`Expression::compile`]; `evaluate` calls [`Expression::holds`] and [`Expression::overlay`] in a [`Scope`];
//! `proof` asks for [`Expression::requirements`]. Values and many functions come from the crate kube-cel. Parsing
//! (docs/adr/0060) and evaluation (docs/adr/0027) are ours, so that both have bounds: `budget` counts steps and bytes. Start
//! with `tree`, then `parse`, `check` and `interpret`, then `functions`.

mod budget;
mod check;
mod compile;
mod compiled;
mod error;
mod functions;
mod interpret;
mod iteration;
mod locate;
mod object_value;
mod operators;
mod parse;
mod pattern;
mod place_check;
mod quantity;
mod requirements;
mod result;
mod scope;
mod tree;
mod types;
mod url;
mod values;

pub(crate) use budget::SharedBudget;
pub(crate) use check::Declared;
pub(crate) use compiled::{Expression, Reads, Variable};
pub(crate) use error::EvaluationError;
pub(crate) use iteration::{FOR_EACH, MAX_EACH};
pub(crate) use object_value::ObjectValue;
pub(crate) use pattern::Pattern;
pub(crate) use requirements::{ITEM, Requirement};
pub(crate) use scope::{RequestScope, Scope};
pub(crate) use types::{Mismatch, Type};
pub(crate) use values::{map, text};

#[cfg(test)]
mod tests;
