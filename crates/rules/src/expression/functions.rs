//! The functions of expressions, with the names and results of the API server, and a few functions of our own.
//!
//! `interpret` calls [`call`] with evaluated arguments. `table` lists every function with the module that has it. Functions
//! whose cost the library bounds by its input are called in the library by `library`; the others are written here.

mod format;
mod general;
mod go_format;
mod library;
mod strings;
mod table;

use kube_cel::cel::Value;

use super::budget::Budget;
use super::error::EvaluationError;
pub(super) use format::check as check_format;
pub(super) use table::{Body, Eager, Form, Function, MACROS, TABLE, find};

/// Calls `function`, whose body is `body`. The receiver of a method is the first argument.
pub(super) fn call(
    function: &'static Function,
    body: Eager,
    arguments: &[Value],
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    budget.spend(4)?;
    arguments.iter().try_for_each(|value| budget.read_scalar(value))?;
    body(function.name, arguments, budget)
}
