//! `format`: values in a form, as the API server's library writes them, which does it in English.

use std::fmt::Write;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};

use super::super::Trouble;
use super::super::budget::{Budget, fits};
use super::super::values::text;
use super::mistyped;
use super::written::{double, duration};

/// How many digits there are behind the point where nobody says.
const DIGITS: usize = 6;

/// What `form` says of `values`, of which each clause takes the next.
pub(super) fn format(form: &str, values: &[Value], budget: &Budget) -> Result<Value, Trouble> {
    budget.text(form.len())?;
    for value in values {
        budget.read(value)?;
    }
    let mut values = values.iter();
    let mut written = String::with_capacity(form.len());
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('%') {
        push(&mut written, before)?;
        let (digits, after) = precision(after)?;
        let mut letters = after.chars();
        let verb = letters.next();
        rest = letters.as_str();
        match (verb, digits) {
            (Some('%'), None) => push(&mut written, "%")?,
            (Some(verb), _) => {
                let value = values.next().ok_or_else(|| mistyped("format", "a value for each clause"))?;
                clause(verb, digits.unwrap_or(DIGITS), value, &mut written)?;
            }
            (None, _) => return Err(mistyped("format", "`%%` for a percent sign")),
        }
        budget.text(written.len())?;
    }
    push(&mut written, rest)?;
    Ok(text(&written))
}

/// Values share their parts, so that a short one may be long when it is written: none is, beyond the longest text.
fn push(written: &mut String, part: &str) -> Result<(), Trouble> {
    fits(written.len() + part.len())?;
    written.push_str(part);
    Ok(())
}

/// The digits behind the point that a clause begins with, and the rest of it.
fn precision(clause: &str) -> Result<(Option<usize>, &str), Trouble> {
    let Some(after) = clause.strip_prefix('.') else { return Ok((None, clause)) };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = after.strip_suffix(rest).and_then(|digits| digits.parse().ok());
    let digits = digits.filter(|digits| *digits < 100);
    digits
        .map(|digits| (Some(digits), rest))
        .ok_or_else(|| mistyped("format", "99 digits at most behind a point"))
}

fn clause(verb: char, digits: usize, value: &Value, written: &mut String) -> Result<(), Trouble> {
    let wanted = |wanted: &str| mistyped("format", &format!("{wanted} for `%{verb}`"));
    let clause = match (verb, value) {
        ('s', value) => return in_words(value, written),
        ('f', value) => fixed(number(value).ok_or_else(|| wanted("a number with a fraction"))?, digits),
        ('e', value) => scientific(number(value).ok_or_else(|| wanted("a number with a fraction"))?, digits),
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::UInt(number)) => number.to_string(),
        ('b', Value::Bool(truth)) => u8::from(*truth).to_string(),
        ('x' | 'X', Value::String(text)) => hexadecimal(verb, text.as_bytes()),
        ('x' | 'X', Value::Bytes(bytes)) => hexadecimal(verb, bytes),
        ('x' | 'X' | 'o' | 'b', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            sign.to_owned() + &in_base(verb, number.unsigned_abs())
        }
        ('x' | 'X' | 'o' | 'b', Value::UInt(number)) => in_base(verb, *number),
        ('d' | 'b' | 'x' | 'X' | 'o', _) => return Err(wanted("a whole number")),
        _ => return Err(mistyped("format", "clauses of `s`, `d`, `f`, `e`, `b`, `o`, `x` and `X`")),
    };
    push(written, &clause)
}

// Recursion is bounded: the value was read before.
fn in_words(value: &Value, written: &mut String) -> Result<(), Trouble> {
    match value {
        Value::String(text) => push(written, text),
        Value::Float(number) => push(written, &double(*number)),
        Value::Duration(length) => push(written, &duration(length.num_nanoseconds())),
        Value::Bytes(bytes) => push(written, readable(bytes)?),
        other => literal(other, written),
    }
}

fn readable(bytes: &[u8]) -> Result<&str, Trouble> {
    std::str::from_utf8(bytes).map_err(|_| mistyped("format", "bytes of UTF-8"))
}

/// A value in a list or map, as the language itself would write it.
fn literal(value: &Value, written: &mut String) -> Result<(), Trouble> {
    let single = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) if number.is_finite() => format!("{number:.DIGITS$}"),
        Value::Float(number) => quoted(&double(*number)),
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => format!("b{}", quoted(readable(bytes)?)),
        Value::Duration(length) => format!("duration({})", quoted(&duration(length.num_nanoseconds()))),
        Value::List(items) => return list(items, written),
        Value::Map(entries) => return map(entries, written),
        _ => return Err(mistyped("format", "single values, lists and maps")),
    };
    push(written, &single)
}

fn list(items: &[Value], written: &mut String) -> Result<(), Trouble> {
    push(written, "[")?;
    for (index, item) in items.iter().enumerate() {
        push(written, if index > 0 { ", " } else { "" })?;
        literal(item, written)?;
    }
    push(written, "]")
}

/// In the order of the keys as they are written.
fn map(map: &Map, written: &mut String) -> Result<(), Trouble> {
    let mut entries = Vec::with_capacity(map.map.len());
    let mut bytes = written.len();
    for (key, value) in map.map.iter() {
        let Key::String(key) = key else { return Err(mistyped("format", "texts as keys")) };
        let key = quoted(key);
        bytes += key.len();
        fits(bytes)?;
        entries.push((key, value));
    }
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    push(written, "{")?;
    for (index, (key, value)) in entries.iter().enumerate() {
        push(written, if index > 0 { ", " } else { "" })?;
        push(written, key)?;
        push(written, ":")?;
        literal(value, written)?;
    }
    push(written, "}")
}

/// Between quotation marks, as Go writes it: what cannot be seen by its number.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        let number = u32::from(character);
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\'' => quoted.push(character),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' | '\r' | '\t' => quoted.extend(character.escape_default()),
            _ if number < 0x80 && character.is_control() => quoted.push_str(&format!("\\x{number:02x}")),
            // What stands above or below a letter is seen with it.
            _ if character.escape_debug().len() == 1 || character.is_alphanumeric() || is_mark(number) => {
                quoted.push(character);
            }
            _ if number > 0xffff => quoted.push_str(&format!("\\U{number:08x}")),
            _ => quoted.push_str(&format!("\\u{number:04x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// The usual combining marks.
fn is_mark(number: u32) -> bool {
    matches!(number, 0x300..=0x36f | 0x1ab0..=0x1ace | 0x1dc0..=0x1dff | 0x20d0..=0x20f0 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

/// A number with a fraction, or one of the words for what is none.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn unusual(number: f64) -> Option<&'static str> {
    match number {
        _ if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("\u{221e}"),
        f64::NEG_INFINITY => Some("-\u{221e}"),
        _ => None,
    }
}

/// With a comma before every three digits.
fn fixed(number: f64, digits: usize) -> String {
    if let Some(word) = unusual(number) {
        return word.to_owned();
    }
    // A zero has no sign.
    let number = if number == 0.0 { 0.0 } else { number };
    let written = format!("{number:.digits$}");
    let (whole, fraction) = written.split_at(written.find('.').unwrap_or(written.len()));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = sign.to_owned();
    for (index, digit) in whole.char_indices() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// With a power of ten. Digits are the width there, not those behind the point, of which there are always six.
fn scientific(number: f64, width: usize) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    let written = unusual(number).map_or_else(
        || {
            let written = format!("{number:.DIGITS$e}");
            let (mantissa, power) = written.split_once('e').unwrap_or((&written, "0"));
            let (sign, power) = power.strip_prefix('-').map_or(("", power), |power| ("\u{207b}", power));
            let raised = format!("{power:0>2}").chars().filter_map(raised).collect::<String>();
            format!("{mantissa}\u{d7}10{sign}{raised}")
        },
        str::to_owned,
    );
    format!("{written:>width$}")
}

/// A digit as an exponent.
fn raised(digit: char) -> Option<char> {
    "\u{2070}\u{b9}\u{b2}\u{b3}\u{2074}\u{2075}\u{2076}\u{2077}\u{2078}\u{2079}"
        .chars()
        .nth(usize::try_from(digit.to_digit(10)?).ok()?)
}

fn in_base(verb: char, number: u64) -> String {
    match verb {
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        'o' => format!("{number:o}"),
        _ => format!("{number:b}"),
    }
}

fn hexadecimal(verb: char, bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut written, byte| {
        // Writing to a text never fails.
        let _ = if verb == 'x' { write!(written, "{byte:02x}") } else { write!(written, "{byte:02X}") };
        written
    })
}
