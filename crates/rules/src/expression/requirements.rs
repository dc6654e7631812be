//! The fields and literal values that a condition compares, from which `proof` makes an object that meets the condition.

use std::collections::BTreeSet;

use kube_cel::cel::Value;

use super::compiled::{Expression, Variable};
use super::operators::Operator;
use super::tree::{Access, Call, Node, Part};

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

    /// The fields that the expression and its `variables` read, where their paths are written as literals.
    pub(crate) fn literal_paths(&self, variables: &[Variable]) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        let search = Search { variables, loops: Vec::new() };
        search.collect_paths(&self.tree, &mut BTreeSet::new(), &mut paths);
        paths
    }
}

struct Search<'s> {
    variables: &'s [Variable],
    /// The variables of the enclosing loops, and the path of each loop's items.
    loops: Vec<(String, Vec<String>)>,
}

impl<'s> Search<'s> {
    /// Each variable is visited once.
    // Recursion is bounded as that of `collect`.
    fn collect_paths(&self, node: &'s Node, seen: &mut BTreeSet<&'s str>, paths: &mut Vec<Vec<String>>) {
        paths.extend(self.path(node));
        match &node.part {
            Part::Binary(Operator::In, sides) => paths.extend(self.member(sides)),
            Part::Field { of, name, .. } if matches!(&of.part, Part::Name(of) if of == "variables") => {
                let named = self.variables.iter().find(|one| one.name == *name && seen.insert(&one.name));
                named.into_iter().for_each(|one| self.collect_paths(&one.expression.tree, seen, paths));
            }
            _ => {}
        }
        node.part.parts().for_each(|part| self.collect_paths(part, seen, paths));
    }

    // Recursion is bounded by the depth of an expression with its variables, `MAX_DEPTH`.
    fn collect(&self, node: &Node, requirements: &mut Vec<Requirement>) {
        match &node.part {
            Part::Field { access: Access::Test, .. } => requirements.extend(present(self.path(node))),
            Part::Logical { sides, .. } => {
                sides.iter().for_each(|side| self.collect(side, requirements));
            }
            Part::Choice(parts) => self.collect(&parts[0], requirements),
            Part::Binary(Operator::Equal, sides) => {
                let [one, other] = sides.as_ref();
                requirements.extend(self.equal(one, other).or_else(|| self.equal(other, one)));
            }
            Part::Binary(Operator::In, sides) => {
                let [one, other] = sides.as_ref();
                let first = match &other.part {
                    Part::List(items) => items.first().and_then(|first| self.equal(one, &first.value)),
                    _ => None,
                };
                requirements.extend(first.or_else(|| present(self.member(sides))));
            }
            Part::Call(Call { name, arguments, is_method: true, .. }) => {
                match (name.as_str(), arguments.as_slice()) {
                    ("startsWith" | "endsWith" | "contains", [target, part]) => {
                        requirements.extend(self.equal(target, part));
                    }
                    ("hasValue", [target]) => requirements.extend(present(self.path(target))),
                    _ => {}
                }
            }
            // A condition asks for a field of an item.
            Part::Loop(written) => {
                let Some(range) = self.path(&written.range) else { return };
                let mut loops = self.loops.clone();
                loops.push((written.item.clone(), [range, vec![ITEM.to_owned()]].concat()));
                Search { variables: self.variables, loops }.collect(&written.condition, requirements);
            }
            _ => {}
        }
    }

    fn equal(&self, field: &Node, value: &Node) -> Option<Requirement> {
        Some(Requirement { path: self.path(field)?, value: Some(value.as_text()?.to_owned()) })
    }

    /// The path of the key that `key in map` asks for.
    fn member(&self, [key, map]: &[Node; 2]) -> Option<Vec<String>> {
        Some([self.path(map)?, vec![key.as_text()?.to_owned()]].concat())
    }

    /// The path of `node`, where it only selects fields, keys and first items. Variables are replaced by their paths.
    fn path(&self, node: &Node) -> Option<Vec<String>> {
        match &node.part {
            Part::Name(name) => {
                let over = self.loops.iter().rev().find(|(variable, _)| variable == name);
                Some(over.map_or_else(|| vec![name.clone()], |(_, path)| path.clone()))
            }
            Part::Field { of, name, .. } => self.below(of, name.clone()),
            // `has(object.metadata.labels) ? object.metadata.labels : {}`
            Part::Choice(parts) => {
                self.path(if matches!(parts[1].part, Part::Map(_)) { &parts[2] } else { &parts[1] })
            }
            Part::Binary(Operator::Index | Operator::OptionalIndex, sides) => {
                let [of, key] = sides.as_ref();
                let member = match &key.part {
                    Part::Literal(Value::Int(0)) => ITEM.to_owned(),
                    _ => key.as_text()?.to_owned(),
                };
                self.below(of, member)
            }
            Part::Call(Call { name, arguments, is_method: true, .. })
                if matches!(name.as_str(), "orValue" | "value" | "lowerAscii" | "trim") =>
            {
                self.path(arguments.first()?)
            }
            _ => None,
        }
    }

    fn below(&self, node: &Node, member: String) -> Option<Vec<String>> {
        let path = [self.path(node)?, vec![member]].concat();
        let [first, name] = path.as_slice() else { return Some(path) };
        let named = self.variables.iter().position(|one| first == "variables" && one.name == *name);
        let Some(index) = named else { return Some(path) };
        let (earlier, rest) = self.variables.split_at_checked(index)?;
        Search { variables: earlier, loops: Vec::new() }.path(&rest.first()?.expression.tree)
    }
}

fn present(path: Option<Vec<String>>) -> Option<Requirement> {
    Some(Requirement { path: path?, value: None })
}
