//! Literals, names, calls of functions, lists, maps and parentheses.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, LiteralValue, MapEntryExpr, MapExpr};

use super::error::SyntaxError;
use super::parser::{Parser, Result};
use super::tokens::{Kind, Token};
use super::tree::Tree;
use super::{literal, macros};

/// Words that the language reserves; `namespace` may stand behind a dot.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Tree> {
        let at = self.token().start;
        let number = self.signed_number();
        if number.is_some() {
            self.advance();
        }
        let Token { kind, start, .. } = self.token();
        let written = self.written(self.token());
        let literal = |value| Ok(Tree::of(at, Expr::Literal(value), 1));
        match kind {
            Kind::Int | Kind::Uint | Kind::Double | Kind::Text | Kind::Bytes => {
                self.advance();
                let value = literal::value(kind, written, number.is_some());
                literal(value.map_err(|message| SyntaxError::new(at, message))?)
            }
            Kind::Symbol(word @ ("true" | "false")) => {
                self.advance();
                literal(LiteralValue::Boolean((word == "true").into()))
            }
            Kind::Symbol("null") => {
                self.advance();
                literal(LiteralValue::Null)
            }
            Kind::Name if RESERVED.contains(&written) => Err(SyntaxError::new(
                start,
                format!("`{written}` is a word that the language keeps for later"),
            )),
            Kind::Name => {
                self.advance();
                if self.open("(")?.is_some() {
                    let arguments = self.arguments()?;
                    return macros::call(start, written, None, arguments);
                }
                Ok(Tree::of(start, Expr::Ident(written.to_owned()), 1))
            }
            Kind::Symbol("(") => {
                self.open("(")?;
                let inner = self.expression()?;
                self.close(")")?;
                Ok(inner)
            }
            Kind::Symbol("[") => self.list(),
            Kind::Symbol("{") => self.map(),
            _ => Err(self.unexpected()),
        }
    }

    fn list(&mut self) -> Result<Tree> {
        let at = self.token().start;
        self.open("[")?;
        let (mut items, mut optional) = (Vec::new(), Vec::new());
        while self.token().kind != Kind::Symbol("]") {
            if self.take("?").is_some() {
                optional.push(items.len());
            }
            items.push(self.expression()?);
            if self.take(",").is_none() {
                break;
            }
        }
        self.close("]")?;
        Tree::list(at, items, optional)
    }

    fn map(&mut self) -> Result<Tree> {
        let at = self.token().start;
        self.open("{")?;
        let (mut entries, mut below) = (Vec::new(), Vec::new());
        while self.token().kind != Kind::Symbol("}") {
            let optional = self.take("?").is_some();
            let key = self.expression()?;
            let id = u64::try_from(self.expect(":")?).unwrap_or_default();
            let value = self.expression()?;
            below.extend([key.depth, value.depth]);
            let entry = MapEntryExpr { key: key.node, value: value.node, optional };
            entries.push(IdedEntryExpr { id, expr: EntryExpr::MapEntry(entry) });
            if self.take(",").is_none() {
                break;
            }
        }
        self.close("}")?;
        Tree::above(at, Expr::Map(MapExpr { entries }), below)
    }
}
