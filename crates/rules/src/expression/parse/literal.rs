//! Literals: numbers, texts and bytes.

use std::sync::Arc;

use kube_cel::cel::Value;

use super::quotes::{Opening, UNENDED};
use super::tokens::Kind;

const ESCAPE: &str = "`\\` begins no character that there is";

const TOO_LONG: &str = "a whole number beyond 64 bits";

/// The value of the literal `written` of this kind; `negative` where a `-` stands before the number.
pub(super) fn value(kind: Kind, written: &str, negative: bool) -> Result<Value, &'static str> {
    let sign = if negative { "-" } else { "" };
    match kind {
        Kind::Int => {
            let number = match written.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16),
                None => format!("{sign}{written}").parse(),
            };
            number.map(Value::Int).map_err(|_| TOO_LONG)
        }
        Kind::Uint => {
            let digits = written.trim_end_matches(['u', 'U']);
            let number = match digits.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => digits.parse(),
            };
            number.map(Value::UInt).map_err(|_| TOO_LONG)
        }
        Kind::Double => {
            let number = format!("{sign}{written}").parse::<f64>().ok().filter(|number| number.is_finite());
            number.map(Value::Float).ok_or("a number that is too large")
        }
        Kind::Text => String::from_utf8(unescaped(written)?)
            .map(|text| Value::String(Arc::new(text)))
            .map_err(|_| ESCAPE),
        Kind::Bytes => unescaped(written).map(Value::from),
        _ => Err("no value"),
    }
}

/// The bytes that a quoted literal stands for.
fn unescaped(written: &str) -> Result<Vec<u8>, &'static str> {
    let Opening { bytes, raw, before, quotes } = Opening::of(written).ok_or(UNENDED)?;
    let inner = written.get(before + quotes.len()..written.len() - quotes.len()).ok_or(UNENDED)?;
    // Every line ending becomes `\n`, as in the API server.
    let inner = inner.replace("\r\n", "\n").replace('\r', "\n");
    if raw {
        return Ok(inner.into_bytes());
    }
    let mut made = Vec::with_capacity(inner.len());
    let mut rest = inner.as_str();
    while let Some((plain, escape)) = rest.split_once('\\') {
        made.extend(plain.bytes());
        let letter = escape.chars().next().ok_or(ESCAPE)?;
        let digits = |from: usize, count: usize, radix: u32| {
            let digits =
                escape.get(from..from + count).filter(|digits| digits.chars().all(|c| c.is_digit(radix)));
            digits.and_then(|digits| u32::from_str_radix(digits, radix).ok()).ok_or(ESCAPE)
        };
        let (code, length) = match letter {
            'a' => (7, 1),
            'b' => (8, 1),
            'f' => (12, 1),
            'n' => (10, 1),
            'r' => (13, 1),
            't' => (9, 1),
            'v' => (11, 1),
            '"' | '\'' | '\\' | '?' | '`' => (letter.into(), 1),
            'x' | 'X' => (digits(1, 2, 16)?, 3),
            '0'..='3' => (digits(0, 3, 8)?, 3),
            'u' if !bytes => (digits(1, 4, 16)?, 5),
            'U' if !bytes => (digits(1, 8, 16)?, 9),
            _ => return Err(ESCAPE),
        };
        if bytes {
            made.push(u8::try_from(code).map_err(|_| ESCAPE)?);
        } else {
            let letter = char::from_u32(code).ok_or(ESCAPE)?;
            made.extend(letter.encode_utf8(&mut [0; 4]).bytes());
        }
        rest = escape.get(length..).ok_or(ESCAPE)?;
    }
    made.extend(rest.bytes());
    Ok(made)
}
