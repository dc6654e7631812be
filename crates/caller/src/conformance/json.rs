//! JSON that nests deeper than the 127 levels that `serde_json` reads by default.

use serde::Deserialize as _;
use serde_json::{Deserializer, Value};

/// The deepest JSON that is judged. kube-apiserver reads 10,000 levels; parsing, cloning, comparing and dropping a [`Value`] take
/// stack for each level, and 1,000 levels fit a thread of 2 MiB.
pub(super) const MAX_DEPTH: usize = 1_000;

/// Parses one JSON value.
pub(super) fn parse(text: &[u8]) -> Result<Value, String> {
    if depth(text) > MAX_DEPTH {
        return Err(format!("exceeded max depth: nested deeper than {MAX_DEPTH} levels"));
    }
    let mut deserializer = Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let value = Value::deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// The most brackets that are open at once, those in strings aside.
fn depth(text: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_no_levels() {
        assert_eq!(depth(br#"{"a[\"[": ["]{", {"b": []}]}"#), 4);
        assert_eq!(depth(b"[] [1]"), 1);
    }

    #[test]
    fn a_thousand_levels_are_read_and_one_more_is_refused() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let value = parse(nested(MAX_DEPTH).as_bytes()).unwrap();
        assert_eq!(value.clone(), value);
        let error = parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(error, "exceeded max depth: nested deeper than 1000 levels");
        assert!(parse(b"[] []").is_err());
    }
}
