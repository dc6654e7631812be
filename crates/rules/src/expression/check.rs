//! Checks the names, functions, patterns and types of an expression when its rule is loaded, and notes what it reads.
//!
//! Parameters have declared types, variables the types of their expressions. Labels and annotations are texts; any other field
//! of an object may have any type. Only a part that fails for every object is mistyped. It is reported even where `||` or `&&`
//! would ignore the error.

mod calls;
mod operators;
mod text_maps;

use super::budget::SharedBudget;
use super::compiled::{Reads, Variable};
use super::iteration::FOR_EACH;
use super::scope::{EACH, MEMBERS_ONLY, VARIABLES};
use super::tree::{Access, Entry, Item, Loop, LoopResult, Node, Part};
use super::types::{Argument, Mismatch, Type};
use crate::diagnostic::{self, Code};
use crate::did_you_mean::{did_you_mean, nearest};

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
    /// The type of `each`, in an item with `forEach`.
    pub(crate) each: Option<&'d Type>,
    /// The budget of the load.
    pub(crate) total: &'d SharedBudget,
}

/// The fields of an object that hold the name of its owner.
const OWNER_FIELDS: [&str; 2] = ["generateName", "ownerReferences"];

/// Walks one expression.
pub(super) struct Checker<'d> {
    declared: Declared<'d>,
    pub(super) findings: Vec<Finding>,
    /// The first mismatch.
    pub(super) mismatch: Option<Mismatch>,
    pub(super) reads: Reads,
    /// The depth of the expression in steps, with the steps of its variables.
    pub(super) deepest: usize,
    /// The depth of the node that is being visited.
    depth: usize,
    /// The variables of loops, the innermost last.
    locals: Vec<(String, Type)>,
}

impl<'d> Checker<'d> {
    pub(super) fn new(declared: Declared<'d>) -> Self {
        Self {
            declared,
            findings: Vec::new(),
            mismatch: None,
            reads: Reads::default(),
            deepest: 0,
            depth: 0,
            locals: declared.each.map(|known| (EACH.to_owned(), known.clone())).into_iter().collect(),
        }
    }

    // Recursion is bounded by MAX_DEPTH of the parser. Each kind of node has its own method, so that a level takes little of
    // the stack.
    pub(super) fn type_of(&mut self, node: &mut Node) -> Type {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let at = node.at;
        let found = match &mut node.part {
            Part::Literal(value) => {
                let known = Type::of(value);
                node.as_text().into_iter().for_each(|text| self.key(text));
                known
            }
            Part::Name(name) => self.name(at, name),
            Part::Field { of, name, access } => self.field(at, of, name, *access),
            Part::Not(one) => self.truth(one),
            Part::Negate(one) => self.negative(one),
            Part::Binary(operator, sides) => self.binary(*operator, sides),
            Part::Logical { sides, .. } => {
                let [one, other] = sides.as_mut();
                self.truth(one);
                self.truth(other)
            }
            Part::Choice(parts) => {
                let [condition, one, other] = parts.as_mut();
                self.truth(condition);
                self.type_of(one).or(self.type_of(other))
            }
            Part::List(items) => self.list(items),
            Part::Map(entries) => self.map(entries),
            Part::Call(call) => self.call(at, call),
            Part::Loop(written) => self.loop_type(written),
        };
        self.depth -= 1;
        found
    }

    fn local(&self, name: &str) -> Option<&Type> {
        self.locals.iter().rev().find(|(local, _)| local == name).map(|(_, known)| known)
    }

    fn name(&mut self, at: usize, name: &str) -> Type {
        if let Some(local) = self.locals.iter().rposition(|(local, _)| local == name) {
            // A macro may have a variable of the same name.
            self.reads.each |= local == 0 && self.declared.each.is_some();
            return self.locals.get(local).map_or(Type::Any, |(_, known)| known.clone());
        }
        self.reads.object |= name == "object";
        self.reads.namespace |= name == "namespaceObject";
        // The whole owner includes its name.
        self.reads.owner_name |= name == "owner";
        if MEMBERS_ONLY.contains(&name) {
            let help = format!("name a member of it: `{name}.NAME`");
            let message = format!("`{name}` is no value of its own");
            self.report(&diagnostic::UNKNOWN_NAME, at, message, help);
        } else if !VARIABLES.iter().any(|(known, _)| *known == name) {
            let known = VARIABLES.iter().map(|(known, _)| *known);
            let locals = self.locals.iter().map(|(local, _)| local.as_str());
            let help = match nearest(name, known.clone().chain(locals)) {
                _ if name == EACH => {
                    format!("`{EACH}` is for an item with `{FOR_EACH}`, and for its other fields")
                }
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
        Type::Any
    }

    /// A field or a key of any value; a literal text may be a key too.
    fn key(&mut self, name: &str) {
        self.reads.owner_name |= OWNER_FIELDS.contains(&name);
    }

    fn field(&mut self, at: usize, of: &mut Node, name: &str, access: Access) -> Type {
        self.key(name);
        let member = match &of.part {
            Part::Name(variable) if access != Access::Optional && self.local(variable).is_none() => {
                self.member(at, variable, name)
            }
            _ => None,
        };
        let found = match member {
            Some(member) => member,
            None => {
                let entry = self.entry_of(of);
                let of = self.type_of(of);
                self.field_of(&of, name, entry)
            }
        };
        match (access, found) {
            (Access::Test, _) => Type::Bool,
            (Access::Optional, Type::Optional(inner)) => Type::Optional(inner),
            (Access::Optional, found) => Type::optional(found),
            (Access::Required, found) => found,
        }
    }

    /// The type of the member `name` of a variable with fixed members.
    fn member(&mut self, at: usize, variable: &str, name: &str) -> Option<Type> {
        let Declared { parameters, variables, .. } = self.declared;
        let known: Vec<(&str, Type)> = match variable {
            "params" => parameters.to_vec(),
            "variables" => {
                let named = variables.iter().map(|one| (one.name.as_str(), one.expression.result.clone()));
                named.collect()
            }
            _ => {
                let (_, members) = VARIABLES.iter().find(|(known, _)| *known == variable)?;
                Some(members.to_vec()).filter(|members| !members.is_empty())?
            }
        };
        self.reads.object |= variable == "request" && name == "object";
        self.reads.namespace |= variable == "namespaceObject";
        self.reads.owner_name |= variable == "owner" && name == "name";
        self.reads.user |= variable == "request" && name == "userInfo";
        if let Some(one) = variables.iter().find(|one| one.name == name)
            && variable == "variables"
        {
            self.reads.add(one.expression.reads);
            self.deepest = self.deepest.max(self.depth + one.expression.depth);
        }
        if let Some((_, known)) = known.iter().find(|(known, _)| *known == name) {
            return Some(known.clone());
        }
        let known = known.iter().map(|(known, _)| *known);
        let help = did_you_mean(name, known.clone()).unwrap_or_else(|| match known.len() {
            0 => format!("the rule declares no `{variable}` before this"),
            _ => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
        });
        self.report(&diagnostic::UNKNOWN_NAME, at, format!("`{variable}` has no `{name}`"), help);
        Some(Type::Any)
    }

    /// The type of the field `name` of a value; `entry` is the type of its entries if it is a map.
    fn field_of(&mut self, of: &Type, name: &str, entry: Type) -> Type {
        match of {
            Type::Optional(_) => Type::optional(entry),
            Type::Any | Type::Never | Type::Map(_) => entry,
            known => self.mistyped(format!("{} has no field `{name}`", known.words()), ""),
        }
    }

    /// The type of a condition.
    fn truth(&mut self, node: &mut Node) -> Type {
        let given = self.type_of(node);
        if !matches!(given, Type::Bool | Type::Any | Type::Never) {
            self.mistyped(format!("a condition is true or false, and this is {}", given.words()), "");
        }
        Type::Bool
    }

    fn list(&mut self, items: &mut [Item]) -> Type {
        let mut found = Type::Never;
        for item in items {
            found = found.or(self.element(&mut item.value, item.optional));
        }
        Type::list(found)
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let mut members = Vec::new();
        for entry in entries {
            let key = self.type_of(&mut entry.key);
            self.want(Argument::Text, &key, "the key of a map");
            let value = self.element(&mut entry.value, entry.optional);
            members.extend(entry.key.as_text().map(|name| (name.to_owned(), value)));
        }
        Type::map(members)
    }

    /// The type of an item or a member. For an optional item or member, the type of its content.
    fn element(&mut self, node: &mut Node, optional: bool) -> Type {
        match self.type_of(node) {
            Type::Optional(inner) if optional => *inner,
            known => known,
        }
    }

    fn loop_type(&mut self, written: &mut Loop) -> Type {
        let item = match self.type_of(&mut written.range) {
            Type::List(item) => *item,
            Type::Map(_) => Type::Text,
            Type::Any | Type::Never => Type::Any,
            known => {
                let given = known.words();
                self.mistyped(format!("a loop goes over a list or a map, and this is {given}"), "")
            }
        };
        self.locals.push((written.item.clone(), item));
        self.truth(&mut written.condition);
        let found = match &mut written.result {
            LoopResult::List(value) => Type::list(self.type_of(value)),
            LoopResult::All | LoopResult::Any | LoopResult::One => Type::Bool,
        };
        self.locals.pop();
        found
    }

    fn want(&mut self, wants: Argument, given: &Type, what: &str) {
        if !wants.takes(given) {
            let what = if what.contains(' ') { what.to_owned() } else { format!("`{what}`") };
            let message = format!("{what} wants {}, and this is {}", wants.words(), given.words());
            self.mistyped(message, wants.help(given));
        }
    }

    fn mistyped(&mut self, message: String, help: &'static str) -> Type {
        self.mismatch.get_or_insert(Mismatch { message, help });
        Type::Any
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
