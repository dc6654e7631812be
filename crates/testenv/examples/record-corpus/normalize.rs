//! Makes two recordings equal, and keeps the order of members and the spelling of numbers and strings, which the API
//! server decides.

use std::collections::HashMap;

/// Indents one JSON document and replaces the values that differ from run to run.
pub(crate) fn normalize(document: &str) -> String {
    let mut normalized = String::with_capacity(document.len() * 2);
    let mut depth = 0;
    let mut uuids = Uuids::default();
    let mut key = String::new();
    let mut rest = document.trim();
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '"' => {
                length = string_length(rest);
                let (string, after) = rest.split_at(length);
                if after.starts_with(':') {
                    string.clone_into(&mut key);
                }
                normalized += &if key == "\"resourceVersion\"" && !after.starts_with(':') && string != "\"\""
                {
                    "\"100\"".to_owned()
                } else {
                    replace_variable(string, &mut uuids)
                };
            }
            '{' | '[' if rest[1..].starts_with(['}', ']']) => {
                length = 2;
                normalized += &rest[..2];
            }
            '{' | '[' => {
                depth += 1;
                normalized.push(first);
                new_line(&mut normalized, depth);
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut normalized, depth);
                normalized.push(first);
            }
            ',' => {
                normalized.push(',');
                new_line(&mut normalized, depth);
            }
            ':' => normalized += ": ",
            other => normalized.push(other),
        }
        rest = &rest[length..];
    }
    normalized.push('\n');
    normalized
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

/// The length in bytes of the JSON string at the start of `text`, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn replace_variable(string: &str, uuids: &mut Uuids) -> String {
    const TOKEN_VOLUME: &str = "\"kube-api-access-";
    if is_time(string) {
        return "\"2026-01-01T00:00:00Z\"".to_owned();
    }
    if string.starts_with(TOKEN_VOLUME) && string.len() == TOKEN_VOLUME.len() + 6 {
        return format!("{TOKEN_VOLUME}abcde\"");
    }
    uuids.replace_in(string)
}

/// `"2026-11-21T11:05:00Z"`.
fn is_time(string: &str) -> bool {
    let shape = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    string.bytes().map(shape).eq(*b"\"0000-00-00T00:00:00Z\"")
}

/// Each UUID gets the next number, so that equal ones stay equal.
#[derive(Default)]
struct Uuids(HashMap<String, usize>);

impl Uuids {
    fn replace_in(&mut self, string: &str) -> String {
        const LENGTH: usize = 36;
        let found = (0..string.len()).filter_map(|at| string.get(at..at + LENGTH)).find(|text| is_uuid(text));
        let Some(uuid) = found else { return string.to_owned() };
        let next = self.0.len() + 1;
        let number = self.0.entry(uuid.to_owned()).or_insert(next);
        string.replace(uuid, &format!("00000000-0000-4000-8000-{number:012}"))
    }
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let lengths = parts.iter().map(|part| part.len());
    lengths.eq([8, 4, 4, 4, 12]) && parts.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn numbers_and_order_are_kept() {
        let document = r#"{"b":1.0,"a":[12345678901234567890,{}],"text":"a, \"b\": {\u003c}"}"#;
        let normalized = normalize(document);
        assert!(
            normalized.starts_with("{\n  \"b\": 1.0,\n  \"a\": [\n    12345678901234567890,\n    {}\n  ],\n")
        );
        assert!(normalized.contains(r#""text": "a, \"b\": {\u003c}""#));
    }

    #[test]
    fn values_that_differ_from_run_to_run_are_replaced() {
        let document = concat!(
            r#"{"uid":"8f3e1c44-6dd1-4d7a-9a52-3f1f0a5bb1f5","again":"JTI=8f3e1c44-6dd1-4d7a-9a52-3f1f0a5bb1f5","#,
            r#""time":"2026-11-21T11:05:00Z","resourceVersion":"231","name":"kube-api-access-x7x9z"}"#
        );
        let normalized: serde_json::Value = serde_json::from_str(&normalize(document)).unwrap();
        let expected = serde_json::json!({
            "uid": "00000000-0000-4000-8000-000000000001",
            "again": "JTI=00000000-0000-4000-8000-000000000001",
            "time": "2026-01-01T00:00:00Z",
            "resourceVersion": "100",
            "name": "kube-api-access-abcde",
        });
        assert_eq!(normalized, expected);
    }
}
