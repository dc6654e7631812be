//! Indents JSON without changing the bytes of its values.

use super::parse::{SPACE, string_length};

/// The JSON text `json` with one member or item per line and two spaces per level, without a final line break.
///
/// Only the whitespace between values changes: strings keep their escapes, and numbers their digits.
///
/// ```
/// let pretty = vestibule_rules::yaml::pretty_json(r#"{"a":[1E+3, {}],"\u0062":"\u00e9"}"#);
/// assert_eq!(pretty, "{\n  \"a\": [\n    1E+3,\n    {}\n  ],\n  \"\\u0062\": \"\\u00e9\"\n}");
/// ```
pub fn pretty_json(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let mut level = 0_usize;
    let mut rest = json.trim_start_matches(SPACE);
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' { string_length(rest) } else { first.len_utf8() };
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = behind.trim_start_matches(SPACE);
        match token {
            "{" | "[" => {
                pretty.push_str(token);
                if !rest.starts_with(['}', ']']) {
                    level += 1;
                    next_line(&mut pretty, level);
                }
            }
            "}" | "]" => {
                if !pretty.ends_with(['{', '[']) {
                    level = level.saturating_sub(1);
                    next_line(&mut pretty, level);
                }
                pretty.push_str(token);
            }
            "," => {
                pretty.push(',');
                next_line(&mut pretty, level);
            }
            ":" => pretty.push_str(": "),
            _ => pretty.push_str(token),
        }
    }
    pretty
}

/// The maximum indentation in levels. Without it the output for 10,000 levels would grow with their square.
const DEEPEST_INDENT: usize = 128;

fn next_line(pretty: &mut String, level: usize) {
    pretty.push('\n');
    pretty.extend(std::iter::repeat_n("  ", level.min(DEEPEST_INDENT)));
}
