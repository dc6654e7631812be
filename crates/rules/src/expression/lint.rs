//! Checks the names, functions and patterns of an expression when its rule is loaded, and notes which variables it reads.

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::budget::SharedBudget;
use super::compiled::Variable;
use super::functions::{self, Form, MACROS, TABLE};
use super::pattern::Pattern;
use super::scope::{MEMBERS_ONLY, VARIABLES};
use super::types::Type;
use crate::diagnostic::{self, Code};
use crate::near::nearest;

/// An error in a part of an expression.
pub(super) struct Finding {
    pub(super) code: &'static Code,
    /// The byte of the expression.
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: String,
}

/// The names that a rule declares.
#[derive(Clone, Copy)]
pub(crate) struct Declared<'d> {
    pub(crate) parameters: &'d [(&'d str, Type)],
    /// The variables before the expression.
    pub(crate) variables: &'d [Variable],
    /// The budget of the load.
    pub(crate) total: &'d SharedBudget,
}

/// The fields of an object that hold the name of its owner.
const OWNER_FIELDS: [&str; 2] = ["generateName", "ownerReferences"];

/// Walks an expression.
pub(super) struct Lint<'l> {
    pub(super) declared: Declared<'l>,
    pub(super) findings: Vec<Finding>,
    /// Whether the expression reads the object with the changes of earlier rules.
    pub(super) reads_object: bool,
    pub(super) reads_namespace: bool,
    pub(super) reads_owner_name: bool,
    /// The depth of the expression in steps, with the steps of its variables.
    pub(super) deepest: usize,
    /// The depth of the node that is being visited.
    depth: usize,
    locals: Vec<&'l str>,
}

impl<'l> Lint<'l> {
    pub(super) fn new(declared: Declared<'l>) -> Self {
        Self {
            declared,
            findings: Vec::new(),
            reads_object: false,
            reads_namespace: false,
            reads_owner_name: false,
            deepest: 0,
            depth: 0,
            locals: Vec::new(),
        }
    }

    pub(super) fn visit(&mut self, expression: &'l IdedExpr) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.visit_node(expression);
        self.depth -= 1;
    }

    // Recursion is bounded by MAX_DEPTH of the parser.
    fn visit_node(&mut self, expression: &'l IdedExpr) {
        let at = usize::try_from(expression.id).unwrap_or_default();
        match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => self.member(text.inner()),
            Expr::Literal(_) => {}
            Expr::Ident(name) => self.variable(at, name),
            Expr::Select(select) => self.select(at, select),
            Expr::Call(call) => self.call(at, call),
            Expr::List(list) => list.elements.iter().for_each(|element| self.visit(element)),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.visit(&entry.key);
                        self.visit(&entry.value);
                    }
                }
            }
            Expr::Comprehension(written) => {
                self.visit(&written.iter_range);
                self.visit(&written.accu_init);
                self.locals.extend([written.accu_var.as_str(), written.iter_var.as_str()]);
                self.locals.extend(written.iter_var2.as_deref());
                for part in [&written.loop_cond, &written.loop_step, &written.result] {
                    self.visit(part);
                }
                self.locals.truncate(self.locals.len() - 2 - usize::from(written.iter_var2.is_some()));
            }
            // The parser builds neither.
            Expr::Struct(_) | Expr::Unspecified => {
                self.report(&diagnostic::EXPRESSION_SYNTAX, at, "this is no part of the language", "");
            }
        }
    }

    fn variable(&mut self, at: usize, name: &str) {
        if self.locals.contains(&name) {
            return;
        }
        self.reads_object |= name == "object";
        self.reads_namespace |= name == "namespaceObject";
        // The whole owner includes its name.
        self.reads_owner_name |= name == "owner";
        if MEMBERS_ONLY.contains(&name) {
            let help = format!("name a member of it: `{name}.NAME`");
            let message = format!("`{name}` is no value of its own");
            return self.report(&diagnostic::UNKNOWN_NAME, at, message, help);
        }
        if !VARIABLES.iter().any(|(known, _)| *known == name) {
            let known = VARIABLES.iter().map(|(known, _)| *known);
            let help = match nearest(name, known.clone().chain(self.locals.iter().copied())) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.declared.parameters.iter().any(|(known, _)| *known == name) => {
                    format!("a parameter is `params.{name}`")
                }
                None if self.declared.variables.iter().any(|variable| variable.name == name) => {
                    format!("a variable is `variables.{name}`")
                }
                None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
            };
            self.report(&diagnostic::UNKNOWN_NAME, at, format!("`{name}` is not known"), help);
        }
    }

    /// A field or a key of any value; a literal text may be a key too.
    fn member(&mut self, name: &str) {
        self.reads_owner_name |= OWNER_FIELDS.contains(&name);
    }

    fn select(&mut self, at: usize, select: &'l SelectExpr) {
        self.member(&select.field);
        let Expr::Ident(name) = &select.operand.expr else { return self.visit(&select.operand) };
        let field = select.field.as_str();
        if self.locals.contains(&name.as_str()) {
            return;
        }
        let known: Vec<&str> = match name.as_str() {
            "params" => self.declared.parameters.iter().map(|(name, _)| *name).collect(),
            "variables" => self.declared.variables.iter().map(|variable| variable.name.as_str()).collect(),
            _ => match VARIABLES.iter().find(|(variable, _)| variable == name) {
                Some((_, members)) if !members.is_empty() => members.to_vec(),
                _ => return self.visit(&select.operand),
            },
        };
        self.reads_object |= name == "request" && field == "object";
        self.reads_namespace |= name == "namespaceObject";
        self.reads_owner_name |= name == "owner" && field == "name";
        if let Some(variable) = self.declared.variables.iter().find(|variable| variable.name == field)
            && name == "variables"
        {
            self.reads_object |= variable.expression.reads_object;
            self.reads_namespace |= variable.expression.reads_namespace;
            self.reads_owner_name |= variable.expression.reads_owner_name;
            self.deepest = self.deepest.max(self.depth + variable.expression.depth);
        }
        if !known.contains(&field) {
            let help = match nearest(field, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => format!("the rule declares no `{name}` before this"),
                None => format!("known here: {}", known.join(", ")),
            };
            let message = format!("`{name}` has no `{field}`");
            self.report(&diagnostic::UNKNOWN_NAME, at, message, help);
        }
    }

    fn call(&mut self, at: usize, call: &'l CallExpr) {
        let name = call.func_name.as_str();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // The parser accepts only operators that the interpreter has.
            return call.args.iter().for_each(|argument| self.visit(argument));
        }
        let space = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(space), .. }) if !self.locals.contains(&space.as_str()) => {
                Some(space)
            }
            _ => None,
        };
        let qualified = space.map(|space| format!("{space}.{name}"));
        let qualified = qualified.as_deref().filter(|name| functions::find(name).is_some());
        if qualified.is_none()
            && let Some(target) = &call.target
        {
            let is_space = |space: &&String| {
                TABLE.iter().any(|function| function.name.starts_with(&format!("{space}.")))
            };
            match space.filter(is_space).filter(|space| !VARIABLES.iter().any(|(name, _)| name == space)) {
                Some(space) => return self.unknown_function(at, &format!("{space}.{name}")),
                None => self.visit(target),
            }
        }
        if matches!(name, "optMap" | "optFlatMap")
            && let [IdedExpr { expr: Expr::Ident(variable), .. }, body] = call.args.as_slice()
        {
            self.locals.push(variable);
            self.visit(body);
            self.locals.pop();
            return;
        }
        call.args.iter().for_each(|argument| self.visit(argument));
        let method = call.target.is_some() && qualified.is_none();
        self.signature(at, qualified.unwrap_or(name), method, call);
    }

    fn signature(&mut self, at: usize, whole: &str, method: bool, call: &CallExpr) {
        let Some(function) = functions::find(whole) else { return self.unknown_function(at, whole) };
        let counted = match (function.form, method) {
            (Form::Function, false) | (Form::Method | Form::Either, true) => call.args.len(),
            (Form::Either, false) if !call.args.is_empty() => call.args.len() - 1,
            (Form::Function | Form::Method | Form::Either, _) => {
                let help = match function.form {
                    Form::Function => format!("write `{whole}(value)`"),
                    Form::Method | Form::Either => format!("write `value.{whole}()`"),
                };
                let message = format!("`{whole}` is not called this way");
                return self.report(&diagnostic::UNKNOWN_FUNCTION, at, message, help);
            }
        };
        if !function.arguments.contains(&counted) {
            let (least, most) = (function.arguments.start(), function.arguments.end());
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("`{whole}` takes {wanted} argument(s) here, and these are {counted}");
            return self.report(&diagnostic::UNKNOWN_FUNCTION, at, message, "");
        }
        if matches!(whole, "matches" | "find" | "findAll")
            && let Some(Expr::Literal(LiteralValue::String(pattern))) =
                call.args.get(call.args.len() - counted).map(|pattern| &pattern.expr)
            && let Err(error) = Pattern::compile(pattern.inner(), |steps| self.declared.total.spend(steps))
        {
            self.report(&diagnostic::BAD_PATTERN, at, error.sentence(), "");
        }
        if whole == "format"
            && let Some(Expr::Literal(LiteralValue::String(form))) =
                call.target.as_ref().map(|form| &form.expr)
            && let Err(error) = functions::check_format(form.inner())
        {
            self.report(&diagnostic::UNKNOWN_FUNCTION, at, error.sentence(), "");
        }
    }

    fn unknown_function(&mut self, at: usize, whole: &str) {
        let known = TABLE.iter().map(|function| function.name).chain(MACROS.iter().copied());
        let help = match nearest(whole, known) {
            Some(near) if near == whole => format!("`{near}` takes other arguments"),
            Some(near) => format!("did you mean `{near}`?"),
            None => "the reference lists all functions".to_owned(),
        };
        self.report(&diagnostic::UNKNOWN_FUNCTION, at, format!("there is no function `{whole}`"), help);
    }

    fn report(
        &mut self,
        code: &'static Code,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(Finding { code, at, message: message.into(), help: help.into() });
    }
}
