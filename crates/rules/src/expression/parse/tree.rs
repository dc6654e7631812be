//! Builds the library's syntax tree and counts how deep steps stand inside each other.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, ListExpr};

use super::error::SyntaxError;

/// The steps that may stand inside each other, with the steps of the variables that an expression names. Every walk over
/// a tree recurses as deep.
pub(in crate::expression) const MAX_DEPTH: usize = 400;

/// A part of an expression, and its depth in steps.
pub(super) struct Tree {
    pub(super) node: IdedExpr,
    pub(super) depth: usize,
}

impl Tree {
    pub(super) fn of(at: usize, expr: Expr, depth: usize) -> Self {
        Self { node: IdedExpr { id: u64::try_from(at).unwrap_or_default(), expr }, depth }
    }

    /// A step over parts of the depths `below`.
    pub(super) fn above(
        at: usize,
        expr: Expr,
        below: impl IntoIterator<Item = usize>,
    ) -> Result<Self, SyntaxError> {
        let depth = 1 + below.into_iter().max().unwrap_or_default();
        if depth > MAX_DEPTH {
            return Err(SyntaxError::too_large(at));
        }
        Ok(Self::of(at, expr, depth))
    }

    pub(super) fn call(
        at: usize,
        name: &str,
        target: Option<Self>,
        arguments: Vec<Self>,
    ) -> Result<Self, SyntaxError> {
        let below: Vec<usize> = target.iter().chain(&arguments).map(|part| part.depth).collect();
        let target = target.map(|target| Box::new(target.node));
        let args = arguments.into_iter().map(|argument| argument.node).collect();
        Self::above(at, Expr::Call(CallExpr { func_name: name.to_owned(), target, args }), below)
    }

    pub(super) fn list(at: usize, items: Vec<Self>, optional: Vec<usize>) -> Result<Self, SyntaxError> {
        let below: Vec<usize> = items.iter().map(|item| item.depth).collect();
        let items = items.into_iter().map(|item| item.node).collect();
        Self::above(at, Expr::List(ListExpr::new_with_optionals(items, optional)), below)
    }

    pub(super) fn at(&self) -> usize {
        usize::try_from(self.node.id).unwrap_or_default()
    }

    /// A copy of a name, which has no parts.
    pub(super) fn copied_name(&self) -> Self {
        Self { node: self.node.clone(), depth: self.depth }
    }
}
