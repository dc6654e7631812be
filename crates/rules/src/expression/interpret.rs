//! Evaluates the syntax tree. Unlike the interpreter of the CEL library (docs/adr/0027), values share their parts, loops over
//! maps follow the order of the keys, and every step is charged to the budget.

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use super::error::EvaluationError;
use super::functions::{self, Body};
use super::operators::{self, Operator};
use super::scope::{EACH, Scope};
use super::tree::{Access, Call, Entry, Item, Loop, LoopResult, Node, Part};
use super::types::kind;
use super::values::{as_optional, content, keys, list, map, optional};

/// One evaluation of one expression.
pub(super) struct Interpreter<'e> {
    scope: &'e Scope<'e>,
    /// The variables of loops, the innermost last.
    locals: Vec<(&'e str, Value)>,
}

type Result<T> = std::result::Result<T, EvaluationError>;

impl<'e> Interpreter<'e> {
    pub(super) fn new(scope: &'e Scope<'e>) -> Self {
        Self { scope, locals: Vec::new() }
    }

    /// With the value of `each`.
    pub(super) fn with_each(mut self, each: Option<&Value>) -> Self {
        self.locals.extend(each.map(|each| (EACH, each.clone())));
        self
    }

    // Recursion is bounded by MAX_DEPTH of the parser, which includes the depth of variables.
    pub(super) fn value(&mut self, node: &'e Node) -> Result<Value> {
        self.scope.budget.spend(1)?;
        match &node.part {
            Part::Literal(value) => Ok(value.clone()),
            Part::Name(name) => match self.local(name) {
                Some(value) => Ok(value.clone()),
                None => self.scope.variable(name),
            },
            Part::Field { of, name, access } => self.field(of, name, *access),
            Part::Not(one) => Ok(Value::Bool(!self.truth(one)?)),
            Part::Negate(one) => operators::negate(&self.value(one)?),
            Part::Binary(operator, sides) => self.binary(*operator, sides),
            Part::Logical { deciding, sides } => self.logical(*deciding, sides),
            Part::Choice(parts) => {
                let [condition, one, other] = parts.as_ref();
                let chosen = if self.truth(condition)? { one } else { other };
                self.value(chosen)
            }
            Part::List(items) => self.list(items),
            Part::Map(entries) => self.map(entries),
            Part::Call(call) => self.call(call),
            Part::Loop(written) => self.run_loop(written),
        }
    }

    fn local(&self, name: &str) -> Option<&Value> {
        self.locals.iter().rev().find(|(local, _)| *local == name).map(|(_, value)| value)
    }

    /// The value of a condition.
    pub(super) fn truth(&mut self, node: &'e Node) -> Result<bool> {
        match self.value(node)? {
            Value::Bool(truth) => Ok(truth),
            other => Err(EvaluationError::failed(format!(
                "a condition is true or false, and this is {}",
                kind(&other)
            ))),
        }
    }

    fn field(&mut self, of: &'e Node, name: &str, access: Access) -> Result<Value> {
        // `request.name` must not compute `request.object`.
        if let Part::Name(variable) = &of.part
            && access != Access::Optional
            && self.local(variable).is_none()
            && let Some(member) = self.member(variable, name)?
        {
            return if access == Access::Test { Ok(Value::Bool(true)) } else { Ok(member) };
        }
        let of = self.value(of)?;
        let found = field(&of, name)?;
        match access {
            Access::Test => Ok(Value::Bool(found.is_some())),
            Access::Optional => Ok(optional(found)),
            Access::Required if as_optional(&of).is_some() => Ok(optional(found)),
            Access::Required => found.ok_or_else(|| {
                EvaluationError::failed(format!(
                    "there is no field `{name}`; `.?{name}` asks for one that may be absent"
                ))
            }),
        }
    }

    /// The member `field` of a variable whose members are computed one by one.
    fn member(&self, name: &str, field: &str) -> Result<Option<Value>> {
        if name != "variables" {
            return self.scope.member(name, field);
        }
        let (variable, computed) = self.scope.rule_variable(field)?;
        if let Some(value) = computed.get() {
            return Ok(Some(value.clone()));
        }
        // A variable names only earlier variables, so the recursion ends.
        let mut interpreter = Interpreter::new(self.scope);
        let value = interpreter.value(&variable.expression.tree).map_err(|error| error.within(field))?;
        self.scope.budget.read(&value)?;
        Ok(Some(computed.get_or_init(|| value).clone()))
    }

    fn binary(&mut self, operator: Operator, [one, other]: &'e [Node; 2]) -> Result<Value> {
        let (one, other) = (self.value(one)?, self.value(other)?);
        match operator {
            Operator::Index if as_optional(&one).is_none() => {
                let missing = "there is nothing under this key; `[?key]` asks for what may be absent";
                self.at(&one, &other)?.ok_or_else(|| EvaluationError::failed(missing))
            }
            Operator::Index | Operator::OptionalIndex => Ok(optional(self.at(&one, &other)?)),
            _ => operators::binary(operator, one, other, &self.scope.budget),
        }
    }

    /// `a || b` and `a && b`. A side with the value `deciding` decides, even where the other side fails.
    fn logical(&mut self, deciding: bool, [one, other]: &'e [Node; 2]) -> Result<Value> {
        let first = match self.truth(one) {
            Err(exhausted @ EvaluationError::BudgetExceeded { .. }) => return Err(exhausted),
            Ok(truth) if truth == deciding => return Ok(Value::Bool(deciding)),
            first => first,
        };
        let second = self.truth(other)?;
        if second == deciding { Ok(Value::Bool(deciding)) } else { first.map(|_| Value::Bool(second)) }
    }

    fn list(&mut self, written: &'e [Item]) -> Result<Value> {
        let mut items = Vec::with_capacity(written.len());
        for item in written {
            let value = self.value(&item.value)?;
            items.extend(present(item.optional, value));
        }
        Ok(list(items))
    }

    fn map(&mut self, written: &'e [Entry]) -> Result<Value> {
        let mut members = Vec::with_capacity(written.len());
        for entry in written {
            let Value::String(key) = self.value(&entry.key)? else {
                return Err(EvaluationError::failed("the keys of a map are texts"));
            };
            self.scope.budget.text(key.len())?;
            let value = self.value(&entry.value)?;
            members.extend(present(entry.optional, value).map(|value| (key.to_string(), value)));
        }
        Ok(map(members))
    }

    fn call(&mut self, call: &'e Call) -> Result<Value> {
        let function = call.function.ok_or_else(|| EvaluationError::failed("this cannot be evaluated"))?;
        match (function.body, call.arguments.as_slice()) {
            (Body::Eager(body), arguments) => {
                let values = arguments.iter().map(|one| self.value(one)).collect::<Result<Vec<_>>>()?;
                functions::call(function, body, &values, &self.scope.budget)
            }
            (Body::DisplayName, _) => Ok(self.scope.display_name()),
            (Body::Or { unwraps }, [target, other]) => {
                let value = self.value(target)?;
                match as_optional(&value) {
                    None => Err(EvaluationError::mistyped(function.name, "an optional before it")),
                    Some(None) => self.value(other),
                    Some(Some(inner)) if unwraps => Ok(inner.clone()),
                    Some(Some(_)) => Ok(value),
                }
            }
            (Body::OptionalMap { wraps }, [target, Node { part: Part::Name(variable), .. }, body]) => {
                let value = self.value(target)?;
                let inner = as_optional(&value)
                    .ok_or_else(|| EvaluationError::mistyped(function.name, "an optional before it"))?;
                let Some(inner) = inner else { return Ok(optional(None)) };
                self.locals.push((variable, inner.clone()));
                let made = self.value(body);
                self.locals.pop();
                if wraps { made.map(|made| optional(Some(made))) } else { made }
            }
            (Body::Or { .. } | Body::OptionalMap { .. }, _) => {
                Err(EvaluationError::failed("this cannot be evaluated"))
            }
        }
    }

    fn run_loop(&mut self, written: &'e Loop) -> Result<Value> {
        let items = match self.value(&written.range)? {
            Value::List(items) => items,
            Value::Map(map) => {
                self.scope.budget.spend(map.map.len())?;
                keys(&map).into()
            }
            other => {
                return Err(EvaluationError::failed(format!(
                    "a loop goes over a list or a map, and this is {}",
                    kind(&other)
                )));
            }
        };
        self.locals.push((&written.item, Value::Null));
        let result = self.loop_result(written, &items);
        self.locals.pop();
        result
    }

    fn loop_result(&mut self, written: &'e Loop, items: &[Value]) -> Result<Value> {
        let (mut failure, mut fitting, mut made) = (None, 0, Vec::new());
        for item in items {
            self.scope.budget.turn()?;
            if let Some((_, local)) = self.locals.last_mut() {
                *local = item.clone();
            }
            match (&written.result, self.truth(&written.condition)) {
                (LoopResult::All, Ok(false)) => return Ok(Value::Bool(false)),
                (LoopResult::Any, Ok(true)) => return Ok(Value::Bool(true)),
                // As with `||` and `&&`, a later item may decide although this item fails.
                (LoopResult::All | LoopResult::Any, Err(error @ EvaluationError::Failed(_))) => {
                    failure = Some(error);
                }
                (_, Err(error)) => return Err(error),
                (LoopResult::One, Ok(holds)) => fitting += usize::from(holds),
                (LoopResult::List(value), Ok(true)) => made.push(self.value(value)?),
                (LoopResult::All | LoopResult::Any | LoopResult::List(_), Ok(_)) => {}
            }
        }
        match (&written.result, failure) {
            (_, Some(error)) => Err(error),
            (LoopResult::All, None) => Ok(Value::Bool(true)),
            (LoopResult::Any, None) => Ok(Value::Bool(false)),
            (LoopResult::One, None) => Ok(Value::Bool(fitting == 1)),
            (LoopResult::List(_), None) => Ok(list(made)),
        }
    }

    /// The value of `value[key]`; an optional stands for its content.
    fn at(&self, value: &Value, key: &Value) -> Result<Option<Value>> {
        let Some(value) = content(value) else { return Ok(None) };
        match (value, key) {
            (Value::Map(map), key) => Ok(operators::member(map, key, &self.scope.budget)?.cloned()),
            (Value::List(items), key) => Ok(operators::item(items, key)?.cloned()),
            (other, _) => Err(EvaluationError::failed(format!("{} has nothing under this key", kind(other)))),
        }
    }
}

/// The value of an item or member, unless it is optional and none.
fn present(optional: bool, value: Value) -> Option<Value> {
    match as_optional(&value) {
        Some(inner) if optional => inner.cloned(),
        _ => Some(value),
    }
}

/// The field `name`; an optional stands for its content.
fn field(value: &Value, name: &str) -> Result<Option<Value>> {
    let Some(value) = content(value) else { return Ok(None) };
    match value {
        Value::Map(map) => Ok(map.map.get(&Key::from(name)).cloned()),
        other => Err(EvaluationError::failed(format!("{} has no field `{name}`", kind(other)))),
    }
}
