//! Operators between values, from the conditional operator down to `!` and `-`.

use super::error::SyntaxError;
use super::parser::{Parser, Result, node};
use super::tokens::Kind;
use crate::expression::operators::Operator;
use crate::expression::tree::{Node, Part};

type Symbols = &'static [(&'static str, Operator)];

const RELATIONS: Symbols = &[
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("in", Operator::In),
];

const SUMS: Symbols = &[("+", Operator::Add), ("-", Operator::Subtract)];

const PRODUCTS: Symbols = &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)];

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Node> {
        let mut choices = Vec::new();
        let mut last = self.terms(true)?;
        while let Some(at) = self.take("?") {
            let one = self.terms(true)?;
            self.expect(":")?;
            choices.push((at, last, one));
            last = self.terms(true)?;
        }
        choices.into_iter().rev().try_fold(last, |other, (at, condition, one)| {
            node(at, Part::Choice(Box::new([condition, one, other])))
        })
    }

    /// `a || b || c`, which true decides, or `a && b && c`. Their order does not matter, so the tree is balanced.
    fn terms(&mut self, deciding: bool) -> Result<Node> {
        let mut terms = Vec::new();
        loop {
            let term = if deciding { self.terms(false)? } else { self.relation()? };
            let at = self.take(if deciding { "||" } else { "&&" });
            terms.push((at.unwrap_or_default(), term));
            if at.is_none() {
                return balanced(deciding, terms);
            }
        }
    }

    fn relation(&mut self) -> Result<Node> {
        self.chain(RELATIONS, |parser| parser.chain(SUMS, |parser| parser.chain(PRODUCTS, Self::unary)))
    }

    /// Operators of one precedence, from left to right.
    fn chain(&mut self, symbols: Symbols, part: fn(&mut Self) -> Result<Node>) -> Result<Node> {
        let mut left = part(self)?;
        loop {
            let found = symbols.iter().find_map(|(symbol, operator)| Some((self.take(symbol)?, *operator)));
            let Some((at, operator)) = found else { return Ok(left) };
            let right = part(self)?;
            left = node(at, Part::Binary(operator, Box::new([left, right])))?;
        }
    }

    /// An even run of `!` or `-` is no operator, an odd run is one, as in the API server.
    fn unary(&mut self) -> Result<Node> {
        let Kind::Symbol(symbol @ ("!" | "-")) = self.token().kind else { return self.member() };
        if self.signed_number().is_some() {
            return self.member();
        }
        let at = self.token().start;
        let mut count = 0;
        while self.take(symbol).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        match symbol {
            _ if count % 2 == 0 => Ok(operand),
            "!" => node(at, Part::Not(Box::new(operand))),
            _ => node(at, Part::Negate(Box::new(operand))),
        }
    }
}

/// A balanced tree of `terms`; each comes with the place of the operator behind it.
fn balanced(deciding: bool, mut terms: Vec<(usize, Node)>) -> Result<Node> {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some((at, left)) = rest.next() {
            pairs.push(match rest.next() {
                Some((behind, right)) => {
                    let sides = Box::new([left, right]);
                    (behind, node(at, Part::Logical { deciding, sides })?)
                }
                None => (at, left),
            });
        }
        terms = pairs;
    }
    terms.pop().map(|(_, term)| term).ok_or_else(|| SyntaxError::new(0, "the expression ends too soon"))
}
