//! Operators between values, from the conditional operator down to `!` and `-`.

use kube_cel::cel::common::ast::operators as op;

use super::error::SyntaxError;
use super::parser::{Parser, Result};
use super::tree::Tree;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Tree> {
        let mut choices = Vec::new();
        let mut last = self.terms(op::LOGICAL_OR)?;
        while let Some(at) = self.take("?") {
            let one = self.terms(op::LOGICAL_OR)?;
            self.expect(":")?;
            choices.push((at, last, one));
            last = self.terms(op::LOGICAL_OR)?;
        }
        choices.into_iter().rev().try_fold(last, |other, (at, condition, one)| {
            Tree::call(at, op::CONDITIONAL, None, vec![condition, one, other])
        })
    }

    /// `a || b || c` or `a && b && c`. Their order does not matter, so the tree is balanced.
    fn terms(&mut self, operator: &'static str) -> Result<Tree> {
        let is_or = operator == op::LOGICAL_OR;
        let mut terms = Vec::new();
        loop {
            let term = if is_or { self.terms(op::LOGICAL_AND)? } else { self.relation()? };
            let at = self.take(if is_or { "||" } else { "&&" });
            terms.push((at.unwrap_or_default(), term));
            if at.is_none() {
                return balanced(operator, terms);
            }
        }
    }

    fn relation(&mut self) -> Result<Tree> {
        self.chain(
            &[
                ("==", op::EQUALS),
                ("!=", op::NOT_EQUALS),
                ("<=", op::LESS_EQUALS),
                (">=", op::GREATER_EQUALS),
                ("<", op::LESS),
                (">", op::GREATER),
                ("in", op::IN),
            ],
            Self::sum,
        )
    }

    fn sum(&mut self) -> Result<Tree> {
        self.chain(&[("+", op::ADD), ("-", op::SUBSTRACT)], Self::product)
    }

    fn product(&mut self) -> Result<Tree> {
        self.chain(&[("*", op::MULTIPLY), ("/", op::DIVIDE), ("%", op::MODULO)], Self::unary)
    }

    /// Operators of one precedence, from left to right.
    fn chain(&mut self, operators: &[(&str, &str)], part: fn(&mut Self) -> Result<Tree>) -> Result<Tree> {
        let mut left = part(self)?;
        loop {
            let found = operators.iter().find_map(|(symbol, name)| Some((self.take(symbol)?, name)));
            let Some((at, name)) = found else { return Ok(left) };
            let right = part(self)?;
            left = Tree::call(at, name, None, vec![left, right])?;
        }
    }

    /// An even run of `!` or `-` is no operator, an odd run is one, as in the API server.
    fn unary(&mut self) -> Result<Tree> {
        for (symbol, name) in [("!", op::LOGICAL_NOT), ("-", op::NEGATE)] {
            if self.signed_number().is_some() {
                break;
            }
            let Some(at) = self.take(symbol) else { continue };
            let mut count = 1;
            while self.take(symbol).is_some() {
                count += 1;
            }
            let operand = self.member()?;
            return if count % 2 == 0 { Ok(operand) } else { Tree::call(at, name, None, vec![operand]) };
        }
        self.member()
    }
}

/// A balanced tree of `terms`; each comes with the place of the operator behind it.
fn balanced(operator: &str, mut terms: Vec<(usize, Tree)>) -> Result<Tree> {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some((at, left)) = rest.next() {
            pairs.push(match rest.next() {
                Some((behind, right)) => (behind, Tree::call(at, operator, None, vec![left, right])?),
                None => (at, left),
            });
        }
        terms = pairs;
    }
    terms.pop().map(|(_, term)| term).ok_or_else(|| SyntaxError::new(0, "the expression ends too soon"))
}
