//! Fields, calls and keys behind a value.

use super::error::SyntaxError;
use super::macros;
use super::parser::{Parser, Result, node};
use super::tokens::Kind;
use crate::expression::operators::Operator;
use crate::expression::tree::{Access, Node, Part};

impl Parser<'_> {
    /// A value with its fields, calls and keys.
    pub(super) fn member(&mut self) -> Result<Node> {
        let mut value = self.primary()?;
        loop {
            value = if self.take(".").is_some() {
                self.field_or_method(value)?
            } else if let Some(at) = self.open("[")? {
                let optional = self.take("?").is_some();
                let operator = if optional { Operator::OptionalIndex } else { Operator::Index };
                let key = self.expression()?;
                self.close("]")?;
                node(at, Part::Binary(operator, Box::new([value, key])))?
            } else if self.token().kind == Kind::Symbol("{") && is_path(&value) {
                let message = "this makes a message, and there are none; a map is written {'key': value}";
                return Err(SyntaxError::new(value.at, message));
            } else {
                return Ok(value);
            };
        }
    }

    fn field_or_method(&mut self, value: Node) -> Result<Node> {
        let optional = self.take("?").is_some();
        let token = self.token();
        let written = self.written(token);
        if !matches!(token.kind, Kind::Name | Kind::Escaped) {
            return Err(self.unexpected());
        }
        self.advance();
        if token.kind == Kind::Name && !optional && self.open("(")?.is_some() {
            let arguments = self.separated(")", Self::expression)?;
            return macros::call(token.start, written, Some(value), arguments);
        }
        let access = if optional { Access::Optional } else { Access::Required };
        let name = written.trim_matches('`').to_owned();
        node(token.start, Part::Field { of: Box::new(value), name, access })
    }
}

/// Whether a node consists of names with dots between them.
fn is_path(mut node: &Node) -> bool {
    while let Part::Field { of, access: Access::Required | Access::Test, .. } = &node.part {
        node = of;
    }
    matches!(node.part, Part::Name(_))
}
