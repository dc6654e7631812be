//! Calls functions of the library, with the cost of their arguments charged before.

use std::sync::LazyLock;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, Value};

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::Form;

static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

const NAMES: [&str; 9] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];

/// Calls the library's function `name`, which copies its arguments.
pub(super) fn call(
    name: &str,
    form: Option<Form>,
    arguments: &[Value],
    budget: &Budget,
) -> Result<Value, EvaluationError> {
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
    let mut names = NAMES.into_iter().map(|name| IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) });
    let mut context = LIBRARY.new_inner_scope();
    for (name, argument) in NAMES.into_iter().zip(arguments) {
        context.add_variable_from_value(name, argument.clone());
    }
    let (target, function) = match (form, name.split_once('.')) {
        (_, Some((space, function))) => {
            (Some(IdedExpr { id: 0, expr: Expr::Ident(space.to_owned()) }), function)
        }
        (Some(Form::Method | Form::Either), None) => (names.next(), name),
        _ => (None, name),
    };
    let rest = arguments.len() - usize::from(target.is_some() && !name.contains('.'));
    let arguments = names.take(rest).collect();
    let call = CallExpr { func_name: function.to_owned(), target: target.map(Box::new), args: arguments };
    let result = Value::resolve(&IdedExpr { id: 0, expr: Expr::Call(call) }, &context);
    // The library's message quotes values, which may be secrets.
    let result =
        result.map_err(|_| EvaluationError::failed(format!("`{name}` cannot take what it is given")))?;
    budget.read(&result)?;
    Ok(result)
}
