//! The macros of the language: calls that are written out as loops before anybody looks at them.

use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, LiteralValue, SelectExpr, operators as op};

use super::{Refused, Tree};

/// What gathers the result of a loop. No name that can be written is like it.
const GATHERED: &str = "@result";

/// What the call `name` comes to at the byte `at`, a macro or a plain call.
pub(super) fn call(
    at: usize,
    name: &str,
    target: Option<Tree>,
    mut arguments: Vec<Tree>,
) -> Result<Tree, Refused> {
    match (name, &target, arguments.len()) {
        ("has", None, 1) => has(arguments.remove(0)),
        ("all" | "exists" | "exists_one" | "existsOne" | "filter", Some(_), 2) | ("map", Some(_), 2 | 3) => {
            let variable = arguments.remove(0);
            let Expr::Ident(name_of_item) = &variable.node.expr else {
                return Err(Refused::syntax(variable.at(), "the first argument is the name of an item"));
            };
            let item = name_of_item.clone();
            let parts = Loop { at, item, variable, arguments };
            match target {
                Some(range) => parts.over(name, range),
                None => Err(Refused::syntax(at, "a loop goes over a list or a map")),
            }
        }
        _ => Tree::call(at, name, target, arguments),
    }
}

fn has(asked: Tree) -> Result<Tree, Refused> {
    let at = asked.at();
    match asked.node.expr {
        Expr::Select(SelectExpr { operand, field, .. }) => {
            let expr = Expr::Select(SelectExpr { operand, field, test: true });
            Ok(Tree::of(at, expr, asked.depth))
        }
        _ => Err(Refused::syntax(at, "`has` asks for a field, such as `has(object.metadata.labels)`")),
    }
}

/// What a loop is made of.
struct Loop {
    at: usize,
    /// The name of an item.
    item: String,
    /// The same, as a value.
    variable: Tree,
    /// What is behind it.
    arguments: Vec<Tree>,
}

impl Loop {
    fn over(mut self, name: &str, range: Tree) -> Result<Tree, Refused> {
        let at = self.at;
        let last = self.arguments.pop().ok_or_else(|| Refused::syntax(at, "an argument is missing"))?;
        let truth = |truth: bool| Tree::of(at, Expr::Literal(LiteralValue::Boolean(truth.into())), 1);
        let number = |number: i64| Tree::of(at, Expr::Literal(LiteralValue::Int(number.into())), 1);
        let gathered = || Tree::of(at, Expr::Ident(GATHERED.to_owned()), 1);
        let call = |name: &str, arguments: Vec<Tree>| Tree::call(at, name, None, arguments);
        match name {
            "all" => {
                let goes_on = call(op::NOT_STRICTLY_FALSE, vec![gathered()])?;
                let step = call(op::LOGICAL_AND, vec![gathered(), last])?;
                self.whole(range, truth(true), goes_on, step, gathered())
            }
            "exists" => {
                let none = call(op::LOGICAL_NOT, vec![gathered()])?;
                let goes_on = call(op::NOT_STRICTLY_FALSE, vec![none])?;
                let step = call(op::LOGICAL_OR, vec![gathered(), last])?;
                self.whole(range, truth(false), goes_on, step, gathered())
            }
            "exists_one" | "existsOne" => {
                let more = call(op::ADD, vec![gathered(), number(1)])?;
                let step = call(op::CONDITIONAL, vec![last, more, gathered()])?;
                let result = call(op::EQUALS, vec![gathered(), number(1)])?;
                self.whole(range, number(0), truth(true), step, result)
            }
            _ => {
                let (kept, condition) = match (name, self.arguments.pop()) {
                    ("filter", _) => (self.variable.copied_name(), Some(last)),
                    (_, condition) => (last, condition),
                };
                let more = Tree::list(at, vec![kept], Vec::new())?;
                let more = call(op::ADD, vec![gathered(), more])?;
                let step = match condition {
                    Some(condition) => call(op::CONDITIONAL, vec![condition, more, gathered()])?,
                    None => more,
                };
                let start = Tree::list(at, Vec::new(), Vec::new())?;
                self.whole(range, start, truth(true), step, gathered())
            }
        }
    }

    fn whole(
        self,
        range: Tree,
        start: Tree,
        goes_on: Tree,
        step: Tree,
        result: Tree,
    ) -> Result<Tree, Refused> {
        let below = [&range, &start, &goes_on, &step, &result].map(|part| part.depth);
        let expr = Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range.node,
            iter_var: self.item,
            iter_var2: None,
            accu_var: GATHERED.to_owned(),
            accu_init: start.node,
            loop_cond: goes_on.node,
            loop_step: step.node,
            result: result.node,
        }));
        Tree::above(self.at, expr, below)
    }
}
