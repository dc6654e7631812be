//! The fields and literal values that a condition compares, from which `proof` makes an object that meets the condition.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators as op};

use super::compiled::{Expression, Variable};

/// A field that a condition asks for.
pub(crate) struct Requirement {
    /// `object`, `metadata`, `labels`, `app`; [`ITEM`] stands for any item of a list.
    pub(crate) path: Vec<String>,
    /// `None` where any value meets the condition.
    pub(crate) value: Option<String>,
}

/// The step of a path into a list.
pub(crate) const ITEM: &str = "*";

impl Expression {
    /// The fields that help the condition to hold; they may not be sufficient. The expression may name `variables`.
    pub(crate) fn requirements(&self, variables: &[Variable]) -> Vec<Requirement> {
        let mut requirements = Vec::new();
        Search { variables, loops: Vec::new() }.collect(&self.tree, &mut requirements);
        requirements
    }
}

struct Search<'s> {
    variables: &'s [Variable],
    /// The variables of the enclosing loops, and the path of each loop's items.
    loops: Vec<(String, Vec<String>)>,
}

impl Search<'_> {
    // Recursion is bounded by the depth of an expression with its variables, `MAX_DEPTH`.
    fn collect(&self, tree: &IdedExpr, requirements: &mut Vec<Requirement>) {
        match &tree.expr {
            Expr::Select(select) if select.test => requirements.extend(present(self.path(tree))),
            Expr::Call(call) => self.collect_call(call, requirements),
            // `exists` and `all` ask for a field of an item.
            Expr::Comprehension(written) => {
                let Some(range) = self.path(&written.iter_range) else { return };
                let mut loops = self.loops.clone();
                loops.push((written.iter_var.clone(), [range, vec![ITEM.to_owned()]].concat()));
                Search { variables: self.variables, loops }.collect(&written.loop_step, requirements);
            }
            _ => {}
        }
    }

    fn collect_call(&self, call: &CallExpr, requirements: &mut Vec<Requirement>) {
        match (call.func_name.as_str(), call.args.as_slice(), &call.target) {
            (op::LOGICAL_AND | op::LOGICAL_OR, both, _) => {
                both.iter().for_each(|one| self.collect(one, requirements));
            }
            (op::CONDITIONAL, [condition, ..], _) => self.collect(condition, requirements),
            (op::EQUALS, [one, other], _) => {
                requirements.extend(self.equal(one, other).or_else(|| self.equal(other, one)));
            }
            (op::IN, [one, other], _) => {
                let first = match &other.expr {
                    Expr::List(list) => list.elements.first().and_then(|first| self.equal(one, first)),
                    _ => None,
                };
                let member = || Some([self.path(other)?, vec![literal(one)?]].concat());
                requirements.extend(first.or_else(|| present(member())));
            }
            ("startsWith" | "endsWith" | "contains", [part], Some(target)) => {
                requirements.extend(self.equal(target, part));
            }
            ("hasValue", [], Some(target)) => requirements.extend(present(self.path(target))),
            _ => {}
        }
    }

    fn equal(&self, field: &IdedExpr, value: &IdedExpr) -> Option<Requirement> {
        Some(Requirement { path: self.path(field)?, value: Some(literal(value)?) })
    }

    /// The path of `tree`, where it only selects fields, keys and first items. Variables are replaced by their paths.
    fn path(&self, tree: &IdedExpr) -> Option<Vec<String>> {
        let below = |tree, member: String| {
            let path = [self.path(tree)?, vec![member]].concat();
            let [first, name] = path.as_slice() else { return Some(path) };
            let named = self.variables.iter().position(|one| first == "variables" && one.name == *name);
            named.map_or(Some(path), |index| {
                let (earlier, rest) = self.variables.split_at_checked(index)?;
                let variable = rest.first()?;
                Search { variables: earlier, loops: Vec::new() }.path(&variable.expression.tree)
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
                    below(one, literal(key).or_else(|| first_item(key))?)
                }
                ("orValue" | "value" | "lowerAscii" | "trim", _, Some(target)) => self.path(target),
                _ => None,
            },
            _ => None,
        }
    }
}

fn present(path: Option<Vec<String>>) -> Option<Requirement> {
    Some(Requirement { path: path?, value: None })
}

/// [`ITEM`], where `tree` is the index 0.
fn first_item(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Literal(LiteralValue::Int(index)) if *index.inner() == 0 => Some(ITEM.to_owned()),
        _ => None,
    }
}

fn literal(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}
