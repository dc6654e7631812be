//! Expands the macros of the language into loops.

use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, SelectExpr, operators as op};

use super::error::SyntaxError;
use super::tree::Tree;

/// The variable that holds the result of a loop. `@` stands in no name that can be written.
const ACCUMULATOR: &str = "@result";

/// The call of `name` at the byte `at`; macros are expanded.
pub(super) fn call(
    at: usize,
    name: &str,
    target: Option<Tree>,
    mut arguments: Vec<Tree>,
) -> Result<Tree, SyntaxError> {
    match (name, &target, arguments.len()) {
        ("has", None, 1) => has(arguments.remove(0)),
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", Some(_), 2) | ("map", Some(_), 2 | 3) => {
            let variable = arguments.remove(0);
            let Expr::Ident(name_of_item) = &variable.node.expr else {
                return Err(SyntaxError::new(variable.at(), "the first argument is the name of an item"));
            };
            let item = name_of_item.clone();
            let parts = Loop { at, item, variable, arguments };
            match target {
                Some(range) => parts.over(name, range),
                None => Err(SyntaxError::new(at, "a loop goes over a list or a map")),
            }
        }
        _ => Tree::call(at, name, target, arguments),
    }
}

fn has(asked: Tree) -> Result<Tree, SyntaxError> {
    let at = asked.at();
    match asked.node.expr {
        Expr::Select(SelectExpr { operand, field, .. }) => {
            let expr = Expr::Select(SelectExpr { operand, field, test: true });
            Ok(Tree::of(at, expr, asked.depth))
        }
        _ => Err(SyntaxError::new(at, "`has` asks for a field, such as `has(object.metadata.labels)`")),
    }
}

/// The parts of a macro that loops.
struct Loop {
    at: usize,
    /// The name of the variable.
    item: String,
    /// The variable as an expression.
    variable: Tree,
    /// The arguments behind the variable.
    arguments: Vec<Tree>,
}

impl Loop {
    fn over(mut self, name: &str, range: Tree) -> Result<Tree, SyntaxError> {
        let at = self.at;
        let last = self.arguments.pop().ok_or_else(|| SyntaxError::new(at, "an argument is missing"))?;
        let truth = |truth: bool| Tree::of(at, Expr::Literal(LiteralValue::Boolean(truth.into())), 1);
        let number = |number: i64| Tree::of(at, Expr::Literal(LiteralValue::Int(number.into())), 1);
        let accumulator = || Tree::of(at, Expr::Ident(ACCUMULATOR.to_owned()), 1);
        let call = |name: &str, arguments: Vec<Tree>| Tree::call(at, name, None, arguments);
        match name {
            "all" => {
                let continues = call(op::NOT_STRICTLY_FALSE, vec![accumulator()])?;
                let step = call(op::LOGICAL_AND, vec![accumulator(), last])?;
                self.comprehension(range, truth(true), continues, step, accumulator())
            }
            "exists" => {
                let none = call(op::LOGICAL_NOT, vec![accumulator()])?;
                let continues = call(op::NOT_STRICTLY_FALSE, vec![none])?;
                let step = call(op::LOGICAL_OR, vec![accumulator(), last])?;
                self.comprehension(range, truth(false), continues, step, accumulator())
            }
            "exists_one" | "existsOne" => {
                let more = call(op::ADD, vec![accumulator(), number(1)])?;
                let step = call(op::CONDITIONAL, vec![last, more, accumulator()])?;
                let result = call(op::EQUALS, vec![accumulator(), number(1)])?;
                self.comprehension(range, number(0), truth(true), step, result)
            }
            _ => {
                let (kept, condition) = match (name, self.arguments.pop()) {
                    ("filter", _) => (self.variable.copied_name(), Some(last)),
                    (_, condition) => (last, condition),
                };
                let more = Tree::list(at, vec![kept], Vec::new())?;
                let more = call(op::ADD, vec![accumulator(), more])?;
                let step = match condition {
                    Some(condition) => call(op::CONDITIONAL, vec![condition, more, accumulator()])?,
                    None => more,
                };
                let start = Tree::list(at, Vec::new(), Vec::new())?;
                self.comprehension(range, start, truth(true), step, accumulator())
            }
        }
    }

    fn comprehension(
        self,
        range: Tree,
        start: Tree,
        continues: Tree,
        step: Tree,
        result: Tree,
    ) -> Result<Tree, SyntaxError> {
        let below = [&range, &start, &continues, &step, &result].map(|part| part.depth);
        let expr = Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range.node,
            iter_var: self.item,
            iter_var2: None,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: start.node,
            loop_cond: continues.node,
            loop_step: step.node,
            result: result.node,
        }));
        Tree::above(self.at, expr, below)
    }
}
