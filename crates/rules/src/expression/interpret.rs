//! Evaluates the syntax tree of the CEL library. Unlike the library's interpreter (docs/adr/0027), values share their parts,
//! loops over maps follow the order of the keys, and every step is charged to the budget.

mod operators;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators as op,
};
use kube_cel::cel::objects::{Key, KeyRef};

use super::error::EvaluationError;
use super::functions;
use super::scope::Scope;
use super::values::{as_optional, kind, list, map, optional, text};

/// One evaluation of one expression.
pub(super) struct Interpreter<'e> {
    scope: &'e Scope<'e>,
    /// The variables of loops, the innermost last.
    locals: Vec<(&'e str, Result<Value>)>,
}

type Result<T> = std::result::Result<T, EvaluationError>;

impl<'e> Interpreter<'e> {
    pub(super) fn new(scope: &'e Scope<'e>) -> Self {
        Self { scope, locals: Vec::new() }
    }

    // Recursion is bounded by MAX_DEPTH of the parser, which includes the depth of variables.
    pub(super) fn value(&mut self, expression: &'e IdedExpr) -> Result<Value> {
        self.scope.budget.spend(1)?;
        match &expression.expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(items) => self.list(items),
            Expr::Map(entries) => self.map(entries),
            Expr::Comprehension(comprehension) => {
                let depth = self.locals.len();
                let value = self.comprehension(comprehension);
                self.locals.truncate(depth);
                value
            }
            Expr::Struct(_) | Expr::Unspecified => Err(EvaluationError::failed("this cannot be evaluated")),
        }
    }

    fn literal(&self, literal: &LiteralValue) -> Result<Value> {
        Ok(match literal {
            LiteralValue::Boolean(truth) => Value::Bool(*truth.inner()),
            LiteralValue::Int(number) => Value::Int(*number.inner()),
            LiteralValue::UInt(number) => Value::UInt(*number.inner()),
            LiteralValue::Double(number) => Value::Float(*number.inner()),
            LiteralValue::Bytes(bytes) => Value::from(bytes.inner().to_vec()),
            LiteralValue::String(written) => text(written.inner()),
            LiteralValue::Null => Value::Null,
        })
    }

    fn local(&self, name: &str) -> Option<usize> {
        self.locals.iter().rposition(|(local, _)| *local == name)
    }

    fn variable(&self, name: &str) -> Result<Value> {
        match self.local(name).and_then(|index| self.locals.get(index)) {
            Some((_, value)) => value.clone(),
            None => self.scope.variable(name),
        }
    }

    fn select(&mut self, select: &'e SelectExpr) -> Result<Value> {
        // `request.name` must not compute `request.object`.
        if let Expr::Ident(name) = &select.operand.expr
            && self.local(name).is_none()
            && let Some(member) = self.member(name, &select.field)?
        {
            return if select.test { Ok(Value::Bool(true)) } else { Ok(member) };
        }
        let operand = self.value(&select.operand)?;
        let found = field(&operand, &select.field)?;
        if select.test {
            return Ok(Value::Bool(found.is_some()));
        }
        if as_optional(&operand).is_some() {
            return Ok(optional(found));
        }
        found.ok_or_else(|| {
            let name = &select.field;
            EvaluationError::failed(format!(
                "there is no field `{name}`; `.?{name}` asks for one that may be absent"
            ))
        })
    }

    /// The member `field` of a variable whose members are computed one by one.
    fn member(&self, name: &str, field: &str) -> Result<Option<Value>> {
        if name != "variables" {
            return self.scope.member(name, field);
        }
        let (index, variable, computed) = self.scope.rule_variable(field)?;
        if computed.is_some() {
            return Ok(computed);
        }
        // A variable names only earlier variables, so the recursion ends.
        let mut interpreter = Interpreter::new(self.scope);
        let value = interpreter.value(&variable.expression.tree).map_err(|error| error.within(field))?;
        self.scope.budget.read(&value)?;
        self.scope.keep(index, value.clone());
        Ok(Some(value))
    }

    fn list(&mut self, written: &'e ListExpr) -> Result<Value> {
        let mut items = Vec::with_capacity(written.elements.len());
        for (index, element) in written.elements.iter().enumerate() {
            let value = self.value(element)?;
            match as_optional(&value) {
                Some(inner) if written.optional_indices.contains(&index) => items.extend(inner.cloned()),
                _ => items.push(value),
            }
        }
        Ok(list(items))
    }

    fn map(&mut self, written: &'e MapExpr) -> Result<Value> {
        let mut members = Vec::with_capacity(written.entries.len());
        for entry in &written.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(EvaluationError::failed("this cannot be evaluated"));
            };
            let Value::String(key) = self.value(&entry.key)? else {
                return Err(EvaluationError::failed("the keys of a map are texts"));
            };
            self.scope.budget.text(key.len())?;
            let value = self.value(&entry.value)?;
            match as_optional(&value) {
                Some(inner) if entry.optional => {
                    members.extend(inner.cloned().map(|inner| (key.to_string(), inner)));
                }
                _ => members.push((key.to_string(), value)),
            }
        }
        Ok(map(members))
    }

    fn comprehension(&mut self, written: &'e ComprehensionExpr) -> Result<Value> {
        let items = match self.value(&written.iter_range)? {
            Value::List(items) => items,
            Value::Map(map) => {
                self.scope.budget.spend(map.map.len())?;
                functions::keys(&map).into()
            }
            other => {
                return Err(EvaluationError::failed(format!(
                    "a loop goes over a list or a map, and this is {}",
                    kind(&other)
                )));
            }
        };
        let start = self.value(&written.accu_init)?;
        let accumulator = self.locals.len();
        self.locals.push((&written.accu_var, Ok(start)));
        self.locals.push((&written.iter_var, Ok(Value::Null)));
        for item in items.iter() {
            self.scope.budget.turn()?;
            self.set(accumulator + 1, Ok(item.clone()));
            if !self.truth(&written.loop_cond)? {
                break;
            }
            match self.value(&written.loop_step) {
                Err(exhausted @ EvaluationError::BudgetExceeded { .. }) => return Err(exhausted),
                // As with `||` and `&&`, a later item may decide although this item fails.
                next => self.set(accumulator, next),
            }
        }
        self.value(&written.result)
    }

    fn set(&mut self, index: usize, value: Result<Value>) {
        if let Some((_, local)) = self.locals.get_mut(index) {
            *local = value;
        }
    }

    fn truth(&mut self, expression: &'e IdedExpr) -> Result<bool> {
        match self.value(expression)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(EvaluationError::failed(format!(
                "a condition is true or false, and this is {}",
                kind(&other)
            ))),
        }
    }

    fn call(&mut self, call: &'e CallExpr) -> Result<Value> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice(), &call.target) {
            (op::CONDITIONAL, [condition, one, other], _) => {
                let chosen = if self.truth(condition)? { one } else { other };
                self.value(chosen)
            }
            (op::LOGICAL_OR, [one, other], _) => self.logical(one, other, true),
            (op::LOGICAL_AND, [one, other], _) => self.logical(one, other, false),
            (op::NOT_STRICTLY_FALSE, [one], _) => match self.truth(one) {
                Err(EvaluationError::Failed(_)) => Ok(Value::Bool(true)),
                other => other.map(Value::Bool),
            },
            (op::LOGICAL_NOT, [one], _) => Ok(Value::Bool(!self.truth(one)?)),
            (op::ADD, [one, other], _) => self.add(one, other),
            (op::INDEX, [one, key], _) => {
                let (one, key) = (self.value(one)?, self.value(key)?);
                let found = self.at(&one, &key)?;
                if as_optional(&one).is_some() {
                    return Ok(optional(found));
                }
                found.ok_or_else(|| {
                    EvaluationError::failed(
                        "there is nothing under this key; `[?key]` asks for what may be absent",
                    )
                })
            }
            (op::OPT_INDEX, [one, key], _) => {
                let (one, key) = (self.value(one)?, self.value(key)?);
                Ok(optional(self.at(&one, &key)?))
            }
            (op::OPT_SELECT, [one, name], _) => {
                let one = self.value(one)?;
                let Value::String(name) = self.value(name)? else {
                    return Err(EvaluationError::failed("a field has a name"));
                };
                Ok(optional(field(&one, &name)?))
            }
            ("orValue" | "or", [other], Some(target)) => {
                let value = self.value(target)?;
                match as_optional(&value) {
                    None => Err(EvaluationError::mistyped(name, "an optional before it")),
                    Some(None) => self.value(other),
                    Some(Some(inner)) => Ok(if name == "or" { value } else { inner.clone() }),
                }
            }
            ("optMap" | "optFlatMap", [variable, body], Some(target)) => {
                self.opt_map(name, variable, body, target)
            }
            (_, [one], None) if name == op::NEGATE => operators::negate(&self.value(one)?),
            (_, [one, other], None) if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let (one, other) = (self.value(one)?, self.value(other)?);
                operators::binary(name, &one, &other, &self.scope.budget)
            }
            _ => self.function(call),
        }
    }

    fn function(&mut self, call: &'e CallExpr) -> Result<Value> {
        let (name, target) = match &call.target {
            Some(target) => match &target.expr {
                Expr::Ident(space) if self.local(space).is_none() => {
                    let qualified = format!("{space}.{}", call.func_name);
                    match functions::find(&qualified) {
                        Some(function) => (function.name, None),
                        None => (call.func_name.as_str(), Some(target)),
                    }
                }
                _ => (call.func_name.as_str(), Some(target)),
            },
            None => (call.func_name.as_str(), None),
        };
        if name == "pod.displayName" {
            return Ok(self.scope.display_name());
        }
        let this = target.map(|target| self.value(target)).transpose()?;
        let arguments = call.args.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>>>()?;
        functions::call(name, this, arguments, &self.scope.budget)
    }

    /// `a || b` and `a && b`. A side with the value `deciding` decides, even where the other side fails.
    fn logical(&mut self, one: &'e IdedExpr, other: &'e IdedExpr, deciding: bool) -> Result<Value> {
        let first = match self.truth(one) {
            Err(exhausted @ EvaluationError::BudgetExceeded { .. }) => return Err(exhausted),
            Ok(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
            first => first,
        };
        let second = self.truth(other)?;
        if second == deciding { Ok(Value::Bool(deciding)) } else { first.map(|_| Value::Bool(second)) }
    }

    fn add(&mut self, one: &'e IdedExpr, other: &'e IdedExpr) -> Result<Value> {
        // The accumulator of a loop is moved out of its variable, so that it grows in place.
        let accumulator = match &one.expr {
            Expr::Ident(name) if name.starts_with('@') => self.local(name),
            _ => None,
        };
        let first = match accumulator.and_then(|index| self.locals.get_mut(index)) {
            Some((_, local)) => std::mem::replace(local, Ok(Value::Null))?,
            None => self.value(one)?,
        };
        let second = self.value(other)?;
        operators::add(first, second, &self.scope.budget)
    }

    fn opt_map(
        &mut self,
        name: &str,
        variable: &'e IdedExpr,
        body: &'e IdedExpr,
        target: &'e IdedExpr,
    ) -> Result<Value> {
        let value = self.value(target)?;
        let inner =
            as_optional(&value).ok_or_else(|| EvaluationError::mistyped(name, "an optional before it"))?;
        let (Some(inner), Expr::Ident(variable)) = (inner, &variable.expr) else { return Ok(optional(None)) };
        self.locals.push((variable, Ok(inner.clone())));
        let made = self.value(body);
        self.locals.pop();
        if name == "optMap" { made.map(|made| optional(Some(made))) } else { made }
    }

    /// The value of `value[key]`; an optional stands for its content.
    fn at(&self, value: &Value, key: &Value) -> Result<Option<Value>> {
        if let Some(inner) = as_optional(value) {
            return inner.map_or(Ok(None), |inner| self.at(inner, key));
        }
        match (value, key) {
            (Value::Map(map), key) => {
                self.scope.budget.read_scalar(key)?;
                let key =
                    KeyRef::try_from(key).map_err(|_| EvaluationError::failed("the key of a map is text"))?;
                Ok(map.get(&key).cloned())
            }
            (Value::List(items), Value::Int(index)) => {
                Ok(usize::try_from(*index).ok().and_then(|index| items.get(index)).cloned())
            }
            (other, _) => Err(EvaluationError::failed(format!("{} has nothing under this key", kind(other)))),
        }
    }
}

/// The field `name`; an optional stands for its content.
fn field(value: &Value, name: &str) -> Result<Option<Value>> {
    if let Some(inner) = as_optional(value) {
        return inner.map_or(Ok(None), |inner| field(inner, name));
    }
    match value {
        Value::Map(map) => Ok(map.map.get(&Key::from(name)).cloned()),
        other => Err(EvaluationError::failed(format!("{} has no field `{name}`", kind(other)))),
    }
}
