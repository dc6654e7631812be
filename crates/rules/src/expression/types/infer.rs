//! Infers the type of an expression from the types of its parts.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators as op,
};

use super::Type;
use super::signatures::{Argument, ResultType};
use crate::expression::functions::{self, Form, Function};
use crate::expression::lint::Declared;

/// A part of an expression that fails for every object.
pub(crate) struct Mismatch {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

/// Walks one expression.
pub(super) struct Checker<'c> {
    declared: Declared<'c>,
    /// The variables of loops, the innermost last.
    locals: Vec<(&'c str, Type)>,
    /// The first mismatch.
    mismatch: Option<Mismatch>,
}

impl<'c> Checker<'c> {
    pub(super) fn new(declared: Declared<'c>) -> Self {
        Self { declared, locals: Vec::new(), mismatch: None }
    }

    pub(super) fn check(mut self, expression: &'c IdedExpr) -> Result<Type, Mismatch> {
        let found = self.of(expression);
        self.mismatch.map_or(Ok(found), Err)
    }

    // Recursion is bounded by MAX_DEPTH of the parser. Each kind of node has its own method, so that a level takes little of
    // the stack.
    fn of(&mut self, expression: &'c IdedExpr) -> Type {
        match &expression.expr {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.local(name).unwrap_or(Type::Any),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Type::Any,
        }
    }

    fn list(&mut self, list: &'c ListExpr) -> Type {
        let mut item = Type::Never;
        for (index, element) in list.elements.iter().enumerate() {
            let next = match self.of(element) {
                Type::Optional(inner) if list.optional_indices.contains(&index) => *inner,
                next => next,
            };
            item = item.or(next);
        }
        Type::list(item)
    }

    fn map(&mut self, map: &'c MapExpr) -> Type {
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                let key = self.of(&entry.key);
                self.want(Argument::Text, &key, "the key of a map");
                self.of(&entry.value);
            }
        }
        Type::Map
    }

    fn local(&self, name: &str) -> Option<Type> {
        self.locals.iter().rev().find(|(local, _)| *local == name).map(|(_, known)| known.clone())
    }

    fn select(&mut self, select: &'c SelectExpr) -> Type {
        let field = select.field.as_str();
        if let Expr::Ident(name) = &select.operand.expr
            && self.local(name).is_none()
            && let Some(member) = self.member(name, field)
        {
            return if select.test { Type::Bool } else { member };
        }
        let operand = self.of(&select.operand);
        let found = self.field(&operand, field);
        if select.test { Type::Bool } else { found }
    }

    /// The type of the member `field` of a variable with fixed members.
    fn member(&self, name: &str, field: &str) -> Option<Type> {
        let parameter = || self.declared.parameters.iter().find(|(name, _)| *name == field);
        let variable = || self.declared.variables.iter().find(|variable| variable.name == field);
        Some(match (name, field) {
            ("params", _) => parameter()?.1.clone(),
            ("variables", _) => variable()?.expression.result.clone(),
            ("request", "dryRun") => Type::Bool,
            ("request", "name" | "namespace" | "operation" | "subResource") => Type::Text,
            ("request", "resource" | "userInfo") => Type::Map,
            ("request", _) => Type::Any,
            ("owner", "kind" | "name") => Type::Text,
            _ => return None,
        })
    }

    fn field(&mut self, operand: &Type, field: &str) -> Type {
        match operand {
            Type::Optional(_) => Type::optional(Type::Any),
            Type::Any | Type::Never | Type::Map => Type::Any,
            known => self.report(format!("{} has no field `{field}`", known.words()), ""),
        }
    }

    fn comprehension(&mut self, written: &'c ComprehensionExpr) -> Type {
        let depth = self.locals.len();
        let range = self.of(&written.iter_range);
        let item = self.item(range);
        let start = self.of(&written.accu_init);
        self.locals.push((&written.accu_var, start));
        self.locals.push((&written.iter_var, item));
        self.of(&written.loop_cond);
        let next = self.of(&written.loop_step);
        if let Some((_, gathered)) = self.locals.get_mut(depth) {
            *gathered = std::mem::replace(gathered, Type::Any).or(next);
        }
        let found = self.of(&written.result);
        self.locals.truncate(depth);
        found
    }

    /// The type of the items of `range`.
    fn item(&mut self, range: Type) -> Type {
        match range {
            Type::List(item) => *item,
            Type::Map => Type::Text,
            Type::Any | Type::Never => Type::Any,
            known => {
                self.report(format!("a loop goes over a list or a map, and this is {}", known.words()), "")
            }
        }
    }

    fn call(&mut self, call: &'c CallExpr) -> Type {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice(), &call.target) {
            (op::CONDITIONAL, [condition, one, other], _) => {
                self.truth(condition);
                self.of(one).or(self.of(other))
            }
            (op::LOGICAL_OR | op::LOGICAL_AND, [one, other], _) => {
                self.truth(one);
                self.truth(other)
            }
            (op::NOT_STRICTLY_FALSE | op::LOGICAL_NOT, [one], _) => self.truth(one),
            (op::OPT_SELECT, [one, name], _) => self.optional_field(one, name),
            ("orValue" | "or", [other], Some(target)) => self.or_value(name, target, other),
            ("optMap" | "optFlatMap", [IdedExpr { expr: Expr::Ident(variable), .. }, body], Some(target)) => {
                self.opt_map(name, target, (variable, body))
            }
            (_, [one], None) if name == op::NEGATE => self.negative(one),
            (_, [one, other], None) if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                self.operator(name, one, other)
            }
            _ => self.function(call),
        }
    }

    fn optional_field(&mut self, one: &'c IdedExpr, name: &'c IdedExpr) -> Type {
        let one = self.of(one);
        let field = match &name.expr {
            Expr::Literal(LiteralValue::String(name)) => name.inner(),
            _ => "",
        };
        self.field(&one, field);
        Type::optional(Type::Any)
    }

    fn or_value(&mut self, name: &str, target: &'c IdedExpr, other: &'c IdedExpr) -> Type {
        let (held, other) = (self.of(target), self.of(other));
        self.want(Argument::Optional, &held, name);
        match held {
            Type::Optional(inner) if name == "orValue" => inner.or(other),
            Type::Optional(_) => held.or(other),
            _ => Type::Any,
        }
    }

    fn opt_map(
        &mut self,
        name: &str,
        target: &'c IdedExpr,
        (variable, body): (&'c str, &'c IdedExpr),
    ) -> Type {
        let held = self.of(target);
        self.want(Argument::Optional, &held, name);
        let inner = if let Type::Optional(inner) = held { *inner } else { Type::Any };
        self.locals.push((variable, inner));
        let made = self.of(body);
        self.locals.pop();
        if name == "optMap" { Type::optional(made) } else { made }
    }

    fn negative(&mut self, one: &'c IdedExpr) -> Type {
        match self.of(one) {
            number @ (Type::Int | Type::Double | Type::Any | Type::Never) => number,
            known => self.report(format!("{} has no negative", known.words()), ""),
        }
    }

    fn operator(&mut self, name: &str, one: &'c IdedExpr, other: &'c IdedExpr) -> Type {
        let one = self.of(one);
        let other = self.of(other);
        match name {
            op::INDEX => self.at(one, &other),
            op::OPT_INDEX => match self.at(one, &other) {
                Type::Optional(inner) => Type::Optional(inner),
                found => Type::optional(found),
            },
            _ => self.binary(name, one, other),
        }
    }

    /// The type of a condition.
    fn truth(&mut self, expression: &'c IdedExpr) -> Type {
        let given = self.of(expression);
        if !matches!(given, Type::Bool | Type::Any | Type::Never) {
            self.report(format!("a condition is true or false, and this is {}", given.words()), "");
        }
        Type::Bool
    }

    /// The type of `one[key]`.
    fn at(&mut self, one: Type, key: &Type) -> Type {
        match one {
            Type::List(item) => {
                self.want(Argument::Int, key, "the place in a list");
                *item
            }
            Type::Optional(_) => Type::optional(Type::Any),
            Type::Any | Type::Never | Type::Map => Type::Any,
            known => self.report(format!("{} has nothing under a key", known.words()), ""),
        }
    }

    fn binary(&mut self, name: &str, one: Type, other: Type) -> Type {
        match name {
            op::EQUALS | op::NOT_EQUALS => Type::Bool,
            op::IN => {
                if !matches!(other, Type::List(_) | Type::Map | Type::Any | Type::Never) {
                    self.report(format!("`in` asks a list or a map, and this is {}", other.words()), "");
                }
                Type::Bool
            }
            op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => {
                if let (Some(here), Some(there)) = (order(&one), order(&other))
                    && here != there
                {
                    let message = format!("{} and {} have no order", one.words(), other.words());
                    self.report(message, conversion_help(&one, &other));
                }
                Type::Bool
            }
            _ => self.arithmetic(name, one, other),
        }
    }

    fn arithmetic(&mut self, name: &str, one: Type, other: Type) -> Type {
        let adds = name == op::ADD;
        match (one, other) {
            (Type::Any | Type::Never, Type::List(_)) | (Type::List(_), Type::Any | Type::Never) if adds => {
                Type::list(Type::Any)
            }
            (Type::Any | Type::Never, Type::Any | Type::Never) => Type::Any,
            (Type::Any | Type::Never, known) | (known, Type::Any | Type::Never)
                if has_operator(name, &known) =>
            {
                known
            }
            (Type::List(one), Type::List(other)) if adds => Type::list(one.or(*other)),
            (one, other) if one == other && has_operator(name, &one) => one,
            (one, other) => {
                let message =
                    format!("{} and {} cannot be added, subtracted and so on", one.words(), other.words());
                let help = match (&one, &other) {
                    (Type::Opaque, _) | (_, Type::Opaque) => "of quantities, `add()` and `sub()` do it",
                    _ if adds => conversion_help(&one, &other),
                    _ => "",
                };
                self.report(message, help)
            }
        }
    }

    fn function(&mut self, call: &'c CallExpr) -> Type {
        let Some((function, is_qualified)) = self.called(call) else { return Type::Any };
        // The value before the dot is the first argument of a method.
        let target = call.target.as_deref().filter(|_| !is_qualified && function.form != Form::Function);
        let mut first = None;
        for (index, argument) in target.into_iter().chain(&call.args).enumerate() {
            let given = self.of(argument);
            if let Some(wants) = function.takes.get(index) {
                self.want(*wants, &given, function.name);
            }
            first.get_or_insert(given);
        }
        result(function.gives, first.unwrap_or(Type::Any))
    }

    /// The function, and whether the name before the dot is its namespace.
    fn called(&self, call: &CallExpr) -> Option<(&'static Function, bool)> {
        let qualified = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(space), .. }) if self.local(space).is_none() => {
                functions::find(&format!("{space}.{}", call.func_name))
            }
            _ => None,
        };
        let plain = || Some((functions::find(&call.func_name)?, false));
        qualified.map(|function| (function, true)).or_else(plain)
    }

    fn want(&mut self, wants: Argument, given: &Type, what: &str) {
        if !wants.takes(given) {
            let what = if what.contains(' ') { what.to_owned() } else { format!("`{what}`") };
            let message = format!("{what} wants {}, and this is {}", wants.words(), given.words());
            self.report(message, wants.help(given));
        }
    }

    fn report(&mut self, message: String, help: &'static str) -> Type {
        self.mismatch.get_or_insert(Mismatch { message, help });
        Type::Any
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::UInt(_) => Type::Uint,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::String(_) => Type::Text,
        LiteralValue::Null => Type::Null,
    }
}

fn result(gives: ResultType, first: Type) -> Type {
    let item = |first: Type| match first {
        Type::List(inner) | Type::Optional(inner) => *inner,
        _ => Type::Any,
    };
    match gives {
        ResultType::Anything => Type::Any,
        ResultType::Bool => Type::Bool,
        ResultType::Int => Type::Int,
        ResultType::Uint => Type::Uint,
        ResultType::Double => Type::Double,
        ResultType::Text => Type::Text,
        ResultType::Duration => Type::Duration,
        ResultType::Map => Type::Map,
        ResultType::Opaque => Type::Opaque,
        ResultType::Texts => Type::list(Type::Text),
        ResultType::Ints => Type::list(Type::Int),
        ResultType::Same => first,
        ResultType::Item => item(first),
        ResultType::OptionalItem => Type::optional(item(first)),
        ResultType::Optional => Type::optional(first),
    }
}

/// Types with the same number can be compared by `<`.
fn order(of: &Type) -> Option<u8> {
    match of {
        Type::Int | Type::Uint | Type::Double => Some(0),
        Type::Text => Some(1),
        Type::Bool => Some(2),
        Type::Duration => Some(3),
        _ => None,
    }
}

fn has_operator(name: &str, known: &Type) -> bool {
    match known {
        Type::Int | Type::Uint => true,
        Type::Double => name != op::MODULO,
        Type::Duration => matches!(name, op::ADD | op::SUBSTRACT),
        Type::Text => name == op::ADD,
        _ => false,
    }
}

/// How to convert a number and a text for one operator.
fn conversion_help(one: &Type, other: &Type) -> &'static str {
    match (one, other) {
        (Type::Text, Type::Int | Type::Uint | Type::Double | Type::Bool)
        | (Type::Int | Type::Uint | Type::Double | Type::Bool, Type::Text) => {
            "`string()` makes text of a number, `int()` a number of text"
        }
        _ => "",
    }
}
