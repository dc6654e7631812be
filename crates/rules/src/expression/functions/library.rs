//! Calls functions of the library, with the cost of their arguments charged before.

use std::sync::LazyLock;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, Value};

use super::super::budget::Budget;
use super::super::error::EvaluationError;

static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

const NAMES: [&str; 9] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];

/// Calls the library's method `name` of the first argument.
pub(super) fn method(name: &str, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    call(name, true, arguments, budget)
}

/// Calls the library's function `name`, which may have a namespace.
pub(super) fn function(name: &str, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    call(name, false, arguments, budget)
}

/// The library copies the arguments.
fn call(name: &str, is_method: bool, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let mut sizes = Vec::new();
    for argument in arguments {
        sizes.push(budget.read(argument)?);
    }
    // These functions compare every item with every other.
    if matches!(
        name,
        "distinct" | "sets.contains" | "sets.equivalent" | "sets.intersects" | "indexOf" | "lastIndexOf"
    ) {
        let least = sizes.get(1).or(sizes.first()).copied().unwrap_or_default();
        budget.spend(sizes.first().copied().unwrap_or_default().saturating_mul(least))?;
    }
    let mut context = LIBRARY.new_inner_scope();
    for (name, argument) in NAMES.into_iter().zip(arguments) {
        context.add_variable_from_value(name, argument.clone());
    }
    let node = |expr| IdedExpr { id: 0, expr };
    let named = |name: &str| node(Expr::Ident(name.to_owned()));
    let mut args: Vec<_> = NAMES.into_iter().take(arguments.len()).map(named).collect();
    let (target, function) = match name.split_once('.') {
        Some((space, function)) => (Some(named(space)), function),
        None if is_method && !args.is_empty() => (Some(args.remove(0)), name),
        None => (None, name),
    };
    let call = CallExpr { func_name: function.to_owned(), target: target.map(Box::new), args };
    let result = Value::resolve(&node(Expr::Call(call)), &context);
    // The library's message quotes values, which may be secrets.
    let result = result.map_err(|_| EvaluationError::refused(name))?;
    budget.read(&result)?;
    Ok(result)
}
