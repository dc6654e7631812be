//! Literals, names, calls of functions, lists, maps and parentheses.

use kube_cel::cel::Value;

use super::error::SyntaxError;
use super::parser::{Parser, Result, node};
use super::tokens::{Kind, Token};
use super::{literal, macros};
use crate::expression::tree::{Entry, Item, Node, Part};

/// Words that the language reserves; `namespace` may stand behind a dot.
const RESERVED: &str =
    "as break const continue else for function if import let loop package namespace return var void while";

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Node> {
        let at = self.token().start;
        let number = self.signed_number();
        if number.is_some() {
            self.advance();
        }
        let Token { kind, start, .. } = self.token();
        let written = self.written(self.token());
        let value = match kind {
            Kind::Int | Kind::Uint | Kind::Double | Kind::Text | Kind::Bytes => {
                let value = literal::value(kind, written, number.is_some());
                value.map_err(|message| SyntaxError::new(at, message))?
            }
            Kind::Symbol(word @ ("true" | "false")) => Value::Bool(word == "true"),
            Kind::Symbol("null") => Value::Null,
            Kind::Name if RESERVED.split(' ').any(|word| word == written) => {
                let message = format!("`{written}` is a word that the language keeps for later");
                return Err(SyntaxError::new(start, message));
            }
            Kind::Name => {
                self.advance();
                if self.open("(")?.is_some() {
                    let arguments = self.separated(")", Self::expression)?;
                    return macros::call(start, written, None, arguments);
                }
                return node(start, Part::Name(written.to_owned()));
            }
            Kind::Symbol("(") => {
                self.open("(")?;
                let inner = self.expression()?;
                self.close(")")?;
                return Ok(inner);
            }
            Kind::Symbol("[") => {
                self.open("[")?;
                let items = self.separated("]", |parser| {
                    Ok(Item { optional: parser.take("?").is_some(), value: parser.expression()? })
                })?;
                return node(at, Part::List(items));
            }
            Kind::Symbol("{") => {
                self.open("{")?;
                let entries = self.separated("}", |parser| {
                    let optional = parser.take("?").is_some();
                    let key = parser.expression()?;
                    parser.expect(":")?;
                    Ok(Entry { optional, key, value: parser.expression()? })
                })?;
                return node(at, Part::Map(entries));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        node(at, Part::Literal(value))
    }
}
