//! Fields, calls and keys behind a value.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, SelectExpr, operators as op};

use super::error::SyntaxError;
use super::macros;
use super::parser::{Parser, Result};
use super::tokens::{Kind, Token};
use super::tree::Tree;

impl Parser<'_> {
    /// A value with its fields, calls and keys.
    pub(super) fn member(&mut self) -> Result<Tree> {
        let mut value = self.primary()?;
        loop {
            value = if self.take(".").is_some() {
                self.field_or_method(value)?
            } else if let Some(at) = self.open("[")? {
                let name = if self.take("?").is_some() { op::OPT_INDEX } else { op::INDEX };
                let key = self.expression()?;
                self.close("]")?;
                Tree::call(at, name, None, vec![value, key])?
            } else if self.token().kind == Kind::Symbol("{") && is_path(&value.node) {
                let message = "this makes a message, and there are none; a map is written {'key': value}";
                return Err(SyntaxError::new(value.at(), message));
            } else {
                return Ok(value);
            };
        }
    }

    fn field_or_method(&mut self, value: Tree) -> Result<Tree> {
        let optional = self.take("?").is_some();
        let Token { kind, start, .. } = self.token();
        let written = self.written(self.token());
        match kind {
            Kind::Name => {}
            Kind::Escaped => {
                self.advance();
                return field(start, value, written.trim_matches('`'), optional);
            }
            _ => return Err(self.unexpected()),
        }
        self.advance();
        let called = if optional { None } else { self.open("(")? };
        match called {
            Some(_) => {
                let arguments = self.arguments()?;
                macros::call(start, written, Some(value), arguments)
            }
            None => field(start, value, written, optional),
        }
    }

    /// The arguments of a call and its closing bracket.
    pub(super) fn arguments(&mut self) -> Result<Vec<Tree>> {
        let mut arguments = Vec::new();
        if self.token().kind != Kind::Symbol(")") {
            arguments.push(self.expression()?);
            while self.take(",").is_some() {
                arguments.push(self.expression()?);
            }
        }
        self.close(")")?;
        Ok(arguments)
    }
}

/// The field `name` of `value`, written at `at`.
fn field(at: usize, value: Tree, name: &str, optional: bool) -> Result<Tree> {
    if optional {
        let name = Tree::of(at, Expr::Literal(LiteralValue::String(name.to_owned().into())), 1);
        return Tree::call(at, op::OPT_SELECT, None, vec![value, name]);
    }
    let below = [value.depth];
    let select = SelectExpr { operand: Box::new(value.node), field: name.to_owned(), test: false };
    Tree::above(at, Expr::Select(select), below)
}

/// Whether a node consists of names with dots between them.
fn is_path(mut node: &IdedExpr) -> bool {
    while let Expr::Select(select) = &node.expr {
        node = &select.operand;
    }
    matches!(node.expr, Expr::Ident(_))
}
