//! Parses an expression into a syntax tree (docs/adr/0060).
//!
//! [`parse()`] is called once when a rule is loaded. It is recursive descent in one pass: no byte is read more than a few
//! times and nothing is tried twice, so the work grows with the text. `operators` reads operators, `postfix` what follows a
//! value, `primary` literals and brackets.

mod error;
mod literal;
mod macros;
mod operators;
mod parser;
mod postfix;
mod primary;
mod quotes;
mod tokens;

use super::tree::Node;
pub(super) use error::SyntaxError;
use parser::Parser;
pub(super) use parser::{MAX_DEPTH, MAX_NESTING};
use tokens::Kind;

/// The longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;

/// The syntax tree of `text`.
pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    if text.len() > MAX_LENGTH {
        return Err(SyntaxError::too_large(0));
    }
    let mut parser = Parser::new(text)?;
    let tree = parser.expression()?;
    if parser.token().kind != Kind::End {
        return Err(parser.unexpected());
    }
    Ok(tree)
}
