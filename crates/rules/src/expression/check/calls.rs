//! The functions that an expression calls, and the types of their arguments and results.

use super::Checker;
use crate::diagnostic;
use crate::did_you_mean::nearest;
use crate::expression::functions::{Form, Function, MACROS, TABLE, check_format, find};
use crate::expression::pattern::Pattern;
use crate::expression::scope::VARIABLES;
use crate::expression::tree::{Call, Node, Part};
use crate::expression::types::{Argument, Type};

impl Checker<'_> {
    pub(super) fn call(&mut self, at: usize, call: &mut Call) -> Type {
        let space = match call.arguments.first().map(|first| &first.part) {
            Some(Part::Name(space)) if call.is_method && self.local(space).is_none() => Some(space.clone()),
            _ => None,
        };
        if let Some(space) = space {
            let qualified = format!("{space}.{}", call.name);
            let is_space = TABLE.iter().any(|function| function.name.starts_with(&format!("{space}.")));
            call.function = find(&qualified);
            if call.function.is_some() {
                call.arguments.remove(0);
                call.is_method = false;
            } else if is_space && !VARIABLES.iter().any(|(name, _)| *name == space) {
                self.unknown_function(at, &qualified);
                return Type::Any;
            }
        }
        call.function = call.function.or_else(|| find(&call.name));
        // Its arguments may name variables of a macro, so they are not checked.
        if call.function.is_none() && in_place_of(&call.name).is_some() {
            self.unknown_function(at, &call.name);
            return Type::Any;
        }
        if let ("optMap" | "optFlatMap", true, [target, Node { part: Part::Name(variable), .. }, body]) =
            (call.name.as_str(), call.is_method, call.arguments.as_mut_slice())
        {
            let held = self.type_of(target);
            self.want(Argument::Optional, &held, &call.name);
            let inner = if let Type::Optional(inner) = held { *inner } else { Type::Any };
            self.locals.push((variable.clone(), inner));
            let made = self.type_of(body);
            self.locals.pop();
            return if call.name == "optMap" { Type::optional(made) } else { made };
        }
        let (name, takes) = call.function.map_or(("", &[][..]), |function| (function.name, function.takes));
        let mut given = Vec::with_capacity(call.arguments.len());
        for (index, argument) in call.arguments.iter_mut().enumerate() {
            let found = self.type_of(argument);
            if let Some(wants) = takes.get(index) {
                self.want(*wants, &found, name);
            }
            given.push(found);
        }
        let Some(function) = call.function else {
            self.unknown_function(at, &call.name);
            return Type::Any;
        };
        self.signature(at, function, call);
        (function.gives)(&given)
    }

    fn signature(&mut self, at: usize, function: &Function, call: &Call) {
        let name = function.name;
        let counted = match (function.form, call.is_method) {
            (Form::Function, false) => call.arguments.len(),
            (Form::Method | Form::Either, true) => call.arguments.len() - 1,
            (Form::Either, false) if !call.arguments.is_empty() => call.arguments.len() - 1,
            (form, _) => {
                let help = match form {
                    Form::Function => format!("write `{name}(value)`"),
                    Form::Method | Form::Either => format!("write `value.{name}()`"),
                };
                let message = format!("`{name}` is not called this way");
                return self.report(&diagnostic::UNKNOWN_FUNCTION, at, message, help);
            }
        };
        if !function.arguments.contains(&counted) {
            let (least, most) = (function.arguments.start(), function.arguments.end());
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("`{name}` takes {wanted} argument(s) here, and these are {counted}");
            return self.report(&diagnostic::UNKNOWN_FUNCTION, at, message, "");
        }
        let literal = |index: usize| call.arguments.get(index).and_then(Node::as_text);
        if matches!(name, "matches" | "find" | "findAll")
            && let Some(pattern) = literal(1)
            && let Err(error) = Pattern::compile(pattern, |steps| self.declared.total.spend(steps))
        {
            self.report(&diagnostic::BAD_PATTERN, at, error.sentence(), "");
        }
        if name == "format"
            && let Some(form) = literal(0)
            && let Err(error) = check_format(form)
        {
            self.report(&diagnostic::UNKNOWN_FUNCTION, at, error.sentence(), "");
        }
    }

    fn unknown_function(&mut self, at: usize, name: &str) {
        let known = TABLE.iter().map(|function| function.name).chain(MACROS.iter().copied());
        let help = match (in_place_of(name), nearest(name, known)) {
            (Some(help), _) => help.to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "the reference lists all functions".to_owned(),
        };
        self.report(&diagnostic::UNKNOWN_FUNCTION, at, format!("there is no function `{name}`"), help);
    }
}

/// The help for macros with other arguments, and for functions of the API server that rules do not have.
fn in_place_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "all" | "exists" | "exists_one" | "filter" | "map" => {
            "it takes one variable: `list.filter(item, item != '')`"
        }
        "has" => "it takes one field: `has(object.spec.hostname)`",
        "transformList" | "transformMap" | "transformMapEntry" => "`map` and `filter` take one variable",
        "bind" => "name the value under `variables`, and read `variables.NAME`",
        "sortBy" => "`sort` sorts single values: `list.map(item, item.name).sort()`",
        "allowed" => "rules have no `authorizer`",
        "validate" => "rules have no named formats; `matches` takes a pattern",
        "timestamp" => "rules have no timestamps",
        _ => return None,
    })
}
