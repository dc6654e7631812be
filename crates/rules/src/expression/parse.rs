//! Parses an expression into the syntax tree of the CEL library (docs/adr/0060).
//!
//! [`parse()`] is called once when a rule is loaded. It is recursive descent in one pass: no byte is read more than a few
//! times and nothing is tried twice, so the work grows with the text. `precedence` reads operators, `postfix` what follows a
//! value, `primary` literals and brackets. The id of a node is the byte at which it is written, for findings.

mod error;
mod literal;
mod macros;
mod parser;
mod postfix;
mod precedence;
mod primary;
mod quotes;
mod tokens;
mod tree;

use kube_cel::cel::common::ast::IdedExpr;

use error::SyntaxError;
pub(super) use parser::MAX_NESTING;
use parser::Parser;
use tokens::Kind;
pub(super) use tree::MAX_DEPTH;

/// The longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 8 * 1024;

/// The syntax tree of `text`.
pub(super) fn parse(text: &str) -> Result<IdedExpr, SyntaxError> {
    if text.len() > MAX_LENGTH {
        return Err(SyntaxError::too_large(0));
    }
    let mut parser = Parser::new(text)?;
    let tree = parser.expression()?;
    if parser.token().kind != Kind::End {
        return Err(parser.unexpected());
    }
    Ok(tree.node)
}
