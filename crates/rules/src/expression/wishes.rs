//! What a condition asks for, as far as it says so with literals: whoever looks for an object that meets it begins there.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, operators as op};

use super::{Expression, Variable};

/// Something that a condition wants somewhere.
pub(crate) struct Wish {
    /// `object`, `metadata`, `labels`, `app`; [`ITEM`] for any item of a list.
    pub(crate) path: Vec<String>,
    /// Any value will do where there is none.
    pub(crate) value: Option<String>,
}

/// The step of a path into a list.
pub(crate) const ITEM: &str = "*";

impl Expression {
    /// What would help it to hold, not in all cases enough. `variables` are those that it may name.
    pub(crate) fn wishes(&self, variables: &[Variable]) -> Vec<Wish> {
        let mut wishes = Vec::new();
        Search { variables, loops: Vec::new() }.gather(&self.tree, &mut wishes);
        wishes
    }
}

struct Search<'s> {
    variables: &'s [Variable],
    /// The variables of the loops around, and what each goes over.
    loops: Vec<(String, Vec<String>)>,
}

impl Search<'_> {
    // Recursion is bounded by the depth that an expression may have, its variables included.
    fn gather(&self, tree: &IdedExpr, wishes: &mut Vec<Wish>) {
        let call = match &tree.expr {
            Expr::Select(select) if select.test => return wishes.extend(self.there(self.path(tree))),
            Expr::Call(call) => call,
            // `exists` and `all`: what they want of an item.
            Expr::Comprehension(written) => {
                let Some(range) = self.path(&written.iter_range) else { return };
                let mut loops = self.loops.clone();
                loops.push((written.iter_var.clone(), [range, vec![ITEM.to_owned()]].concat()));
                return Search { variables: self.variables, loops }.gather(&written.loop_step, wishes);
            }
            _ => return,
        };
        match (call.func_name.as_str(), call.args.as_slice(), &call.target) {
            (op::LOGICAL_AND | op::LOGICAL_OR, both, _) => {
                both.iter().for_each(|one| self.gather(one, wishes));
            }
            (op::CONDITIONAL, [condition, ..], _) => self.gather(condition, wishes),
            (op::EQUALS, [one, other], _) => {
                wishes.extend(self.equal(one, other).or_else(|| self.equal(other, one)));
            }
            (op::IN, [one, other], _) => {
                let first = match &other.expr {
                    Expr::List(list) => list.elements.first().and_then(|first| self.equal(one, first)),
                    _ => None,
                };
                let within = || Some([self.path(other)?, vec![literal(one)?]].concat());
                wishes.extend(first.or_else(|| self.there(within())));
            }
            ("startsWith" | "endsWith" | "contains", [part], Some(target)) => {
                wishes.extend(self.equal(target, part));
            }
            ("hasValue", [], Some(target)) => wishes.extend(self.there(self.path(target))),
            _ => {}
        }
    }

    fn equal(&self, place: &IdedExpr, value: &IdedExpr) -> Option<Wish> {
        Some(Wish { path: self.path(place)?, value: Some(literal(value)?) })
    }

    fn there(&self, path: Option<Vec<String>>) -> Option<Wish> {
        Some(Wish { path: path?, value: None })
    }

    /// The members that `tree` goes through, where it does nothing else.
    fn path(&self, tree: &IdedExpr) -> Option<Vec<String>> {
        let below = |tree, member: String| {
            let path = [self.path(tree)?, vec![member]].concat();
            let [first, name] = path.as_slice() else { return Some(path) };
            let named = self.variables.iter().find(|variable| first == "variables" && variable.name == *name);
            named.map_or(Some(path), |variable| {
                let earlier = self.variables.iter().position(|other| other.name == variable.name)?;
                let variables = self.variables.get(..earlier)?;
                Search { variables, loops: Vec::new() }.path(&variable.expression.tree)
            })
        };
        match &tree.expr {
            Expr::Ident(name) => {
                let over = self.loops.iter().rev().find(|(variable, _)| variable == name);
                Some(over.map_or_else(|| vec![name.clone()], |(_, path)| path.clone()))
            }
            Expr::Select(select) => below(&select.operand, select.field.clone()),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice(), &call.target) {
                (op::INDEX | op::OPT_INDEX | op::OPT_SELECT, [one, key], _) => {
                    below(one, literal(key).or_else(|| first(key))?)
                }
                ("orValue" | "value" | "lowerAscii" | "trim", _, Some(target)) => self.path(target),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The first place of a list.
fn first(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Literal(LiteralValue::Int(place)) if *place.inner() == 0 => Some(ITEM.to_owned()),
        _ => None,
    }
}

fn literal(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}
