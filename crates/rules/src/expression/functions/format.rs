//! `format()`: the clauses of the API server's CEL library that write single values (docs/adr/0084).

use kube_cel::cel::Value;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::values::text;
use super::go_format::single;

/// The digits behind the point of `%f` without a precision.
const DIGITS: usize = 6;

/// A clause such as `%.2f`.
struct Clause {
    verb: char,
    digits: Option<usize>,
}

/// `form.format(values)`: replaces each clause of the form by the next one of the values.
pub(super) fn call(name: &str, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let [Value::String(form), Value::List(values)] = arguments else {
        return Err(EvaluationError::refused(name));
    };
    budget.text(form.len())?;
    for value in values.iter() {
        budget.read(value)?;
    }
    let mut values = values.iter();
    let mut written = String::with_capacity(form.len());
    for piece in pieces(form) {
        let (before, clause) = piece?;
        written.push_str(before);
        if let Some(clause) = clause {
            let value = values
                .next()
                .ok_or_else(|| EvaluationError::mistyped("format", "a value for each clause"))?;
            written.push_str(&clause.write(value)?);
        }
        budget.text(written.len())?;
    }
    Ok(text(&written))
}

/// Whether `form` has no other clauses than `format` knows.
pub(in super::super) fn check(form: &str) -> Result<(), EvaluationError> {
    pieces(form).try_for_each(|piece| piece.map(drop))
}

/// The texts of `form`, each with the clause behind it. `%%` is the text `%`.
fn pieces(form: &str) -> impl Iterator<Item = Result<(&str, Option<Clause>), EvaluationError>> {
    let mut rest = Some(form);
    std::iter::from_fn(move || {
        let form = rest.take().filter(|form| !form.is_empty())?;
        let Some((before, behind)) = form.split_once('%') else { return Some(Ok((form, None))) };
        if let Some(behind) = behind.strip_prefix('%') {
            rest = Some(behind);
            return Some(Ok((form.get(..=before.len()).unwrap_or_default(), None)));
        }
        Some(Clause::read(behind).map(|(clause, behind)| {
            rest = Some(behind);
            (before, Some(clause))
        }))
    })
}

impl Clause {
    /// The clause at the start of `text`, which stands behind a `%`, and the text behind the clause.
    fn read(text: &str) -> Result<(Self, &str), EvaluationError> {
        let (digits, behind) = match text.strip_prefix('.') {
            None => (None, text),
            Some(behind) => {
                let rest = behind.trim_start_matches(|c: char| c.is_ascii_digit());
                let digits = behind.strip_suffix(rest).and_then(|digits| digits.parse().ok());
                let digits = digits.filter(|digits| *digits < 100);
                (
                    Some(digits.ok_or_else(|| {
                        EvaluationError::mistyped("format", "99 digits at most behind a point")
                    })?),
                    rest,
                )
            }
        };
        let mut letters = behind.chars();
        match letters.next() {
            Some(verb) if "sdfboxX".contains(verb) => Ok((Self { verb, digits }, letters.as_str())),
            Some(_) => {
                Err(EvaluationError::mistyped("format", "clauses of `s`, `d`, `f`, `b`, `o`, `x` and `X`"))
            }
            None => Err(EvaluationError::mistyped("format", "`%%` for a percent sign")),
        }
    }

    fn write(&self, value: &Value) -> Result<String, EvaluationError> {
        let wanted =
            |wanted: &str| EvaluationError::mistyped("format", &format!("{wanted} for `%{}`", self.verb));
        Ok(match (self.verb, value) {
            ('s', Value::Null) => "null".to_owned(),
            ('s', value) => single(value).ok_or_else(|| wanted("a single value"))?,
            ('f', Value::Float(number)) if number.is_finite() => {
                fixed(*number, self.digits.unwrap_or(DIGITS))
            }
            ('f', _) => return Err(wanted("a number with a fraction")),
            ('b', Value::Bool(truth)) => u8::from(*truth).to_string(),
            (_, Value::Int(number)) => {
                let sign = if *number < 0 { "-" } else { "" };
                sign.to_owned() + &self.in_base(number.unsigned_abs())
            }
            (_, Value::UInt(number)) => self.in_base(*number),
            _ => return Err(wanted("a whole number")),
        })
    }

    fn in_base(&self, number: u64) -> String {
        match self.verb {
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            'o' => format!("{number:o}"),
            'b' => format!("{number:b}"),
            _ => number.to_string(),
        }
    }
}

/// A number with a comma before every three digits, as the API server writes it.
fn fixed(number: f64, digits: usize) -> String {
    // The API server writes no sign before a zero.
    let number = if number == 0.0 { 0.0 } else { number };
    let written = format!("{number:.digits$}");
    let (whole, fraction) = written.split_at(written.find('.').unwrap_or(written.len()));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let groups: Vec<_> = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    format!("{sign}{}{fraction}", groups.join(","))
}
