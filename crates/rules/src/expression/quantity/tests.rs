//! Compares quantities with the answers of Kubernetes' library. `tests/quantities` makes the table and describes its
//! columns.

use kube_cel::cel::Value;

use super::{Quantity, as_opaque, is_written, parse};

const TABLE: &str = include_str!("../../../tests/quantities/table.tsv");

#[test]
fn quantities_equal_kubernetes() {
    let mut kinds = [0; 4];
    for row in TABLE.lines() {
        let read = |text: &str| match text.strip_prefix('#') {
            Some(number) => Some(Quantity::from(number.parse::<i64>().unwrap())),
            None => as_opaque(&parse(text).ok()?).copied(),
        };
        let kind = match row.split('\t').collect::<Vec<_>>().as_slice() {
            [text, ""] => {
                assert!(!is_written(text) && read(text).is_none(), "{row}");
                0
            }
            [text, answer @ ..] if answer.len() == 4 => {
                assert!(text.starts_with('#') || is_written(text), "{row}");
                match read(text) {
                    Some(quantity) => {
                        assert_is(Some(quantity), answer, row);
                        1
                    }
                    None => has_too_many_digits(answer, row),
                }
            }
            [one, other, order, answers @ ..] => match (read(one), read(other)) {
                (Some(one), Some(other)) => {
                    assert_eq!((one.nanos.cmp(&other.nanos) as i32).to_string(), *order, "{row}");
                    let (sum, difference) = answers.split_at(4);
                    assert_is(one.plus(other), sum, row);
                    // Kubernetes subtracts the least number of 64 bits wrongly.
                    if other.nanos != i128::from(i64::MIN) * 1_000_000_000 {
                        assert_is(other.negated().and_then(|other| one.plus(other)), difference, row);
                    }
                    2
                }
                _ => 3,
            },
            _ => panic!("{row}"),
        };
        kinds[kind] += 1;
    }
    let [malformed, single, pairs, out_of_range] = kinds;
    assert!(malformed > 50 && single > 50 && pairs > 300, "{kinds:?}");
    assert!(out_of_range < single + pairs, "{kinds:?}");
}

/// A row whose amount `answer` has no place in 128 bits of billionths, or is written in more than 28 digits, or is a zero
/// with a long exponent. Kubernetes sets an amount with a binary suffix to the greatest number of 64 bits where it is larger.
fn has_too_many_digits(answer: &[&str], row: &str) -> usize {
    let greatest = i128::from(i64::MAX) * 1_000_000_000;
    let fits = |nanos: i128| nanos != 0 && nanos.abs() != greatest;
    let digits = row.split('\t').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    assert!(digits > 28 || !nanos(answer).is_some_and(fits), "{row}");
    3
}

fn assert_is(quantity: Option<Quantity>, answer: &[&str], row: &str) {
    let Some(quantity) = quantity else {
        has_too_many_digits(answer, row);
        return;
    };
    let [integer, float, sign, _] = answer else { panic!("{row}") };
    assert_eq!(
        quantity.integer().map_or_else(|| "-".to_owned(), |number| number.to_string()),
        *integer,
        "{row}"
    );
    let float: f64 = float.parse().unwrap();
    let tolerance = if quantity.short.is_some() { 0.0 } else { float.abs() * 1e-15 };
    assert!((quantity.float() - float).abs() <= tolerance, "{row}: {}", quantity.float());
    assert_eq!(quantity.nanos.signum().to_string(), *sign, "{row}");
    assert_eq!(Some(quantity.nanos), nanos(answer), "{row}");
}

/// The last column, `digits/scale`, in billionths.
fn nanos(answer: &[&str]) -> Option<i128> {
    let (digits, scale) = answer.last()?.split_once('/')?;
    let power = 9 - scale.parse::<i64>().ok()?;
    let ten = 10_i128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?);
    match digits.parse::<i128>().ok()? {
        0 => Some(0),
        digits if power < 0 => Some(digits / ten?),
        digits => digits.checked_mul(ten?),
    }
}

#[test]
fn amounts_of_too_many_digits_are_refused() {
    let told = |text: &str| match parse(text) {
        Ok(Value::Opaque(_)) => "fits".to_owned(),
        Ok(_) => panic!("{text}"),
        Err(error) => error.sentence(),
    };
    for text in ["8Ei", "1e28", "123456789012345678901.0000000001k", "1e-30"] {
        assert_eq!(told(text), "fits", "{text}");
    }
    for text in ["1e30", "1e999999999", "1234567890123456789e999", "1e2147483648"] {
        assert!(is_written(text) && told(text).contains("more than 38 digits"), "{text}: {}", told(text));
    }
}
