//! Indents JSON without changing the bytes of its values.

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
    let mut rest = json.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                pretty.push('"');
                let mut escaped = false;
                for inner in rest.by_ref() {
                    pretty.push(inner);
                    match inner {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                pretty.push(character);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    pretty.push(end);
                } else {
                    level += 1;
                    next_line(&mut pretty, level);
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                next_line(&mut pretty, level);
                pretty.push(character);
            }
            ',' => {
                pretty.push(',');
                next_line(&mut pretty, level);
            }
            ':' => pretty.push_str(": "),
            other => pretty.push(other),
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
