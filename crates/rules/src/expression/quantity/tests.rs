//! What Kubernetes' own library answers: `tests/quantities` makes the table and says what its columns are.

use super::amount::Amount;

const TABLE: &str = include_str!("../../../tests/quantities/table.tsv");

#[test]
fn amounts_are_what_they_are_to_kubernetes() {
    let mut kinds = [0; 3];
    for row in TABLE.lines() {
        let read = |text: &str| match text.strip_prefix('#') {
            Some(number) => Some(Amount::from(number.parse::<i64>().unwrap())),
            None => Amount::read(text).ok(),
        };
        match row.split('\t').collect::<Vec<_>>().as_slice() {
            [text, ""] => {
                assert!(read(text).is_none(), "{row}");
                kinds[0] += 1;
            }
            [text, answer @ ..] if answer.len() == 4 => {
                described(read(text), answer, row);
                kinds[1] += 1;
            }
            [one, other, order, answers @ ..] => {
                let (one, other) = (read(one).unwrap(), read(other).unwrap());
                assert_eq!((one.compare(&other) as i32).to_string(), *order, "{row}");
                let (sum, difference) = answers.split_at(4);
                described(one.plus(&other), sum, row);
                described(one.minus(&other), difference, row);
                kinds[2] += 1;
            }
            _ => panic!("{row}"),
        }
    }
    assert!(kinds.iter().all(|rows| *rows > 50), "{kinds:?}");
}

fn described(amount: Option<Amount>, answer: &[&str], row: &str) {
    let amount = amount.unwrap_or_else(|| panic!("{row}"));
    let [whole, number, sign, exact] = answer else { panic!("{row}") };
    assert_eq!(amount.whole().map_or_else(|| "-".to_owned(), |whole| whole.to_string()), *whole, "{row}");
    let number: f64 = number.parse().unwrap();
    assert_eq!(format!("{:?}", amount.float()), format!("{number:?}"), "{row}");
    assert_eq!(amount.sign().to_string(), *sign, "{row}");
    let decimal = amount.decimal();
    let digits = if decimal.sign() == 0 { "0".to_owned() } else { decimal.written() };
    assert_eq!(format!("{digits}/{}", decimal.scale()), *exact, "{row}");
}

/// What Go writes down all zeros of.
#[test]
fn an_exponent_costs_nothing() {
    let read = |text: &str| Amount::read(text).ok();
    let [one, much, more, less, least] =
        ["1", "1e999999999", "1e2147483647", "-1e2147483647", "1e-999999999"].map(|text| read(text).unwrap());
    assert!(much.compare(&one).is_gt() && much.compare(&more).is_lt() && less.compare(&one).is_lt());
    assert!(least.compare(&read("1n").unwrap()).is_eq());
    assert!(much.plus(&one).is_none() && one.minus(&much).is_none());
    assert!(read("1234567890123456789e999").is_none());
    let nines = format!("{}e-9", "9".repeat(1_000));
    assert_eq!(read(&nines).unwrap().length(), 1_000);
    assert!(read(&nines).unwrap().plus(&read("1n").unwrap()).is_none());
}
