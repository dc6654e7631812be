//! The tokens that are still to be read, the brackets that are open, and the errors of parsing.

use super::error::SyntaxError;
use super::quotes::UNENDED;
use super::tokens::{Kind, Token, tokens};
use crate::expression::tree::{Node, Part};

/// The steps that may stand inside each other, with the steps of the variables that an expression names.
pub(in crate::expression) const MAX_DEPTH: usize = 400;

/// How deep brackets may stand inside each other. It bounds the recursion of the parser: everything else that can repeat
/// is a loop.
pub(in crate::expression) const MAX_NESTING: usize = 32;

pub(super) type Result<T, E = SyntaxError> = std::result::Result<T, E>;

/// The tokens that are still to be read, and the brackets that are open.
pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    next: usize,
    open_brackets: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self> {
        Ok(Self { text, tokens: tokens(text)?, next: 0, open_brackets: 0 })
    }

    pub(super) fn token(&self) -> Token {
        let end = Token { kind: Kind::End, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.next).copied().unwrap_or(end)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    pub(super) fn written(&self, token: Token) -> &'t str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// Reads `symbol` if it is the next token, and returns its place.
    pub(super) fn take(&mut self, symbol: &str) -> Option<usize> {
        let Token { kind: Kind::Symbol(found), start, .. } = self.token() else { return None };
        (found == symbol).then(|| {
            self.next += 1;
            start
        })
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<usize> {
        self.take(symbol).ok_or_else(|| self.unexpected())
    }

    /// Reads an opening bracket if it is the next token, and returns its place.
    pub(super) fn open(&mut self, bracket: &str) -> Result<Option<usize>> {
        let at = self.take(bracket);
        self.open_brackets += usize::from(at.is_some());
        match at {
            Some(at) if self.open_brackets > MAX_NESTING => Err(SyntaxError::too_large(at)),
            at => Ok(at),
        }
    }

    pub(super) fn close(&mut self, bracket: &str) -> Result<()> {
        self.expect(bracket)?;
        self.open_brackets -= 1;
        Ok(())
    }

    /// The number behind a `-`, if these are the next two tokens: the sign is part of the number.
    pub(super) fn signed_number(&self) -> Option<Token> {
        let number = self.tokens.get(self.next + 1)?;
        let signed =
            self.token().kind == Kind::Symbol("-") && matches!(number.kind, Kind::Int | Kind::Double);
        signed.then_some(*number)
    }

    /// Reads items by `read`, with commas between them, and the closing bracket. Only arguments have no comma behind the last one.
    pub(super) fn separated<T>(
        &mut self,
        close: &'static str,
        read: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        let mut ends_in_comma = false;
        while self.token().kind != Kind::Symbol(close) {
            all.push(read(self)?);
            ends_in_comma = self.take(",").is_some();
            if !ends_in_comma {
                break;
            }
        }
        if ends_in_comma && close == ")" {
            return Err(self.unexpected());
        }
        self.close(close)?;
        Ok(all)
    }

    /// The error about the next token. It does not quote texts, which may be secrets.
    pub(super) fn unexpected(&self) -> SyntaxError {
        let Token { kind, start, .. } = self.token();
        let written = self.written(self.token());
        let message = match kind {
            Kind::End => "the expression ends too soon".to_owned(),
            Kind::Text | Kind::Bytes => UNENDED.to_owned(),
            Kind::Int | Kind::Uint | Kind::Double => "a number is out of place here".to_owned(),
            Kind::Name | Kind::Escaped | Kind::Symbol(_) => format!("`{written}` is out of place here"),
        };
        SyntaxError::new(start, message)
    }
}

/// The node of `part`, which is written at `at`.
pub(super) fn node(at: usize, part: Part) -> Result<Node> {
    let depth = 1 + part.parts().map(|below| below.depth).max().unwrap_or_default();
    if depth > MAX_DEPTH {
        return Err(SyntaxError::too_large(at));
    }
    Ok(Node { at, depth, part })
}
