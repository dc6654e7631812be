//! Cuts the text of an expression into tokens.

use super::error::SyntaxError;
use super::quotes::{UNENDED, quoted};

/// A token and its bytes.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    /// A name between backticks, which stands behind a dot.
    Escaped,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    /// An operator, a bracket, or a keyword.
    Symbol(&'static str),
    End,
}

/// Longer symbols first.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%", "<", ">",
];

const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// All tokens of `text`, without [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        start += blank(text.get(start..).unwrap_or_default());
        let rest = text.get(start..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(tokens);
        }
        let (kind, length) = token(rest).map_err(|message| SyntaxError::new(start, message))?;
        tokens.push(Token { kind, start, end: start + length });
        start += length;
    }
}

/// The length of the spaces and comments at the start of `rest`.
fn blank(rest: &str) -> usize {
    let mut length = 0;
    loop {
        let tail = rest.get(length..).unwrap_or_default();
        let spaces = tail.len() - tail.trim_start_matches(['\t', ' ', '\r', '\n', '\u{c}']).len();
        let comment = if tail.starts_with("//") { tail.find('\n').unwrap_or(tail.len()) } else { 0 };
        if spaces + comment == 0 {
            return length;
        }
        length += spaces.max(comment);
    }
}

/// The token at the start of `rest`, and its length.
fn token(rest: &str) -> Result<(Kind, usize), &'static str> {
    let digit = |c: char| c.is_ascii_digit();
    if rest.starts_with(digit) || rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(digit)) {
        return Ok(number(rest));
    }
    if let Some((bytes, length)) = quoted(rest) {
        let length = length.ok_or(UNENDED)?;
        return Ok((if bytes { Kind::Bytes } else { Kind::Text }, length));
    }
    if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = WORDS.into_iter().find(|word| rest.get(..end) == Some(word));
        return Ok((word.map_or(Kind::Name, Kind::Symbol), end));
    }
    if let Some(name) = rest.strip_prefix('`') {
        let end = name.find('`').ok_or("a name between backticks does not end")?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
        let name = name.get(..end).unwrap_or_default();
        if name.is_empty() || !name.chars().all(fits) {
            return Err("a name between backticks has letters, digits, `_`, `.`, `-`, `/` and spaces");
        }
        return Ok((Kind::Escaped, end + 2));
    }
    let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
    symbol.map(|symbol| (Kind::Symbol(symbol), symbol.len())).ok_or("this character has no meaning here")
}

/// The number at the start of `rest`, and its length.
fn number(rest: &str) -> (Kind, usize) {
    let run = |from: usize, fits: fn(&u8) -> bool| {
        rest.as_bytes().get(from..).unwrap_or_default().iter().take_while(|byte| fits(byte)).count()
    };
    let unsigned = |end: usize| {
        let suffix = rest.get(end..).is_some_and(|rest| rest.starts_with(['u', 'U']));
        if suffix { (Kind::Uint, end + 1) } else { (Kind::Int, end) }
    };
    if rest.starts_with("0x") {
        let digits = run(2, u8::is_ascii_hexdigit);
        if digits > 0 {
            return unsigned(2 + digits);
        }
    }
    let whole = run(0, u8::is_ascii_digit);
    let fraction = match rest.as_bytes().get(whole) {
        Some(b'.') => run(whole + 1, u8::is_ascii_digit),
        _ => 0,
    };
    let end = if fraction > 0 { whole + 1 + fraction } else { whole };
    let exponent = match rest.as_bytes().get(end) {
        Some(b'e' | b'E') => {
            let sign = usize::from(matches!(rest.as_bytes().get(end + 1), Some(b'+' | b'-')));
            let digits = run(end + 1 + sign, u8::is_ascii_digit);
            if digits > 0 { 1 + sign + digits } else { 0 }
        }
        _ => 0,
    };
    if fraction + exponent > 0 { (Kind::Double, end + exponent) } else { unsigned(end) }
}
