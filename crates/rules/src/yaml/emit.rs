//! Writes JSON as YAML in kubectl's layout: lists are indented like the key above them, members keep their order, and
//! numbers keep their spelling.

use vestibule_patch::{Document, DocumentError, Kind, View};

use super::scalar;

/// The JSON text `json` as YAML.
///
/// Readers of YAML 1.1 and 1.2 get the same values, because ambiguous text is quoted.
///
/// # Errors
/// The text is not JSON, or is nested too deeply.
///
/// ```
/// let yaml = vestibule_rules::yaml::from_json(r#"{"args":["on","a"],"ratio":1.0}"#).unwrap();
/// assert_eq!(yaml, "args:\n- \"on\"\n- a\nratio: 1.0\n");
/// ```
pub fn from_json(json: &str) -> Result<String, DocumentError> {
    let document = Document::parse(json)?;
    let mut lines = Vec::new();
    let value = document.view();
    let shape = shape(value, 0);
    let column = if matches!(shape, Shape::Scalar) { 2 } else { 0 };
    Layout::default().block(value, shape, column, &mut lines);
    Ok(lines.join("\n") + "\n")
}

/// The maximum length of a key on the line of its colon (YAML 1.2.2, 7.4.2).
const LONGEST_KEY: usize = 1024;

/// The layout of the output.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// Whether lists are indented further than the key above them.
    pub(super) lists_indented: bool,
}

/// From this column on values are written as JSON, which is YAML too. The limit is about 128 levels; a document may
/// have 10,000.
const MAX_COLUMN: usize = 2 * super::MAX_DEPTH;

// Recursion is bounded: `column` grows at least with every second level, up to `MAX_COLUMN`.
impl Layout {
    /// `value` of a key at `column`: the rest of the key's line, and the lines below it.
    pub(super) fn member(self, value: View<'_>, column: usize) -> (String, Vec<String>) {
        let mut lines = Vec::new();
        match shape(value, column) {
            Shape::Scalar => (format!(" {}", scalar_lines(value, column + 2, &mut lines)), lines),
            shape => {
                let is_below = matches!(shape, Shape::List) && !self.lists_indented;
                self.block(value, shape, if is_below { column } else { column + 2 }, &mut lines);
                (String::new(), lines)
            }
        }
    }

    /// An item of a list whose dash is at `column`.
    pub(super) fn item(self, value: View<'_>, column: usize, lines: &mut Vec<String>) {
        let start = lines.len();
        self.block(value, shape(value, column), column + 2, lines);
        if let Some(first) = lines.get_mut(start) {
            *first = format!("{:column$}- {}", "", first.trim_start_matches(' '));
        }
    }

    /// A member of a map whose keys are at `column`.
    pub(super) fn entry(self, key: &str, value: View<'_>, column: usize, lines: &mut Vec<String>) {
        let key = inline(key);
        if key.chars().count() <= LONGEST_KEY {
            let (head, below) = self.member(value, column);
            lines.push(format!("{:column$}{key}:{head}", ""));
            lines.extend(below);
        } else {
            let (head, below) = Self { lists_indented: true }.member(value, column);
            lines.push(format!("{:column$}? {key}", ""));
            lines.push(format!("{:column$}:{head}", ""));
            lines.extend(below);
        }
    }

    /// The lines of a value. Members, items and the further lines of a text start at `column`.
    fn block(self, value: View<'_>, shape: Shape, column: usize, lines: &mut Vec<String>) {
        match shape {
            Shape::Map => {
                value.entries().into_iter().for_each(|(key, value)| self.entry(&key, value, column, lines));
            }
            Shape::List => value.items().into_iter().for_each(|item| self.item(item, column, lines)),
            Shape::Scalar => {
                let mut below = Vec::new();
                lines.push(scalar_lines(value, column, &mut below));
                lines.append(&mut below);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Shape {
    /// A map with members.
    Map,
    /// A list with items.
    List,
    /// A scalar, an empty list or map, or a list or map that is written as JSON.
    Scalar,
}

fn shape(value: View<'_>, column: usize) -> Shape {
    match value.kind() {
        _ if column >= MAX_COLUMN => Shape::Scalar,
        Kind::Object if !value.entries().is_empty() => Shape::Map,
        Kind::Array if !value.items().is_empty() => Shape::List,
        _ => Shape::Scalar,
    }
}

/// Returns the first line of a scalar; further lines are appended to `lines` at `column`.
fn scalar_lines(value: View<'_>, column: usize, lines: &mut Vec<String>) -> String {
    match value.kind() {
        Kind::Object if value.entries().is_empty() => "{}".to_owned(),
        Kind::Array if value.items().is_empty() => "[]".to_owned(),
        Kind::Object | Kind::Array => value.to_json().into_owned(),
        Kind::String => {
            let text = value.as_str().unwrap_or_default();
            let Some(header) = literal(&text) else { return inline(&text) };
            let indented = |line: &str| match line {
                "" => String::new(),
                line => format!("{:column$}{line}", ""),
            };
            lines.extend(text.strip_suffix('\n').unwrap_or(&text).split('\n').map(indented));
            header.to_owned()
        }
        Kind::Null | Kind::Bool | Kind::Number => value.to_json().into_owned(),
    }
}

/// The header of a text of several lines as a block scalar, if it can be one.
fn literal(text: &str) -> Option<&'static str> {
    let content = text.strip_suffix('\n').unwrap_or(text);
    // A reader takes the indentation from the first line, and the final line break from the last lines.
    let plain = !content.starts_with([' ', '\n']) && !content.ends_with('\n') && content.contains('\n');
    let printable = |character: char| matches!(character, '\n' | '\t') || is_printable(character);
    let blank = |line: &str| !line.is_empty() && line.trim().is_empty();
    if !plain || !content.chars().all(printable) || content.split('\n').any(blank) {
        return None;
    }
    Some(if text.ends_with('\n') { "|" } else { "|-" })
}

/// A text on one line.
fn inline(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    // JSON inside a value is easier to read without escapes.
    if text.contains(['"', '\\']) && text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    // YAML reads the escapes of JSON.
    let escaped = |character: char| match is_printable(character) {
        true => character.to_string(),
        false => format!("\\u{:04x}", u32::from(character)),
    };
    super::quote(text).chars().map(escaped).collect()
}

/// Whether every YAML reader takes the unquoted text for this text.
fn is_plain(text: &str) -> bool {
    let starts = |character: char| character.is_alphanumeric() || "/_.$+(^;-".contains(character);
    let first = text.chars().next().is_some_and(starts);
    let dash = text == "-" || text.starts_with("- ") || text.starts_with("---") || text.starts_with("...");
    let ends = text.ends_with([' ', ':']) || text.contains(": ") || text.contains(" #");
    // In YAML 1.1, `12:30:00` and digits with underscores are numbers, and `=` is a special value.
    let digits = text.trim_start_matches(['-', '+']).starts_with(|first: char| first.is_ascii_digit());
    let number = digits && !text.contains(|character: char| character.is_ascii_alphabetic());
    first
        && !dash
        && !ends
        && !text.contains(", ")
        && text.chars().all(is_printable)
        && !scalar::is_special(text)
        && !(number && text.contains([':', '_', '-', ' ']))
}

/// YAML's printable characters, except those that end a line or change the writing direction.
fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{a0}'..='\u{61b}' | '\u{61d}'..='\u{200d}' | '\u{2010}'..='\u{2027}' | '\u{202f}'..='\u{2065}' | '\u{206a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_types_and_digits_are_kept() {
        let json = r#"{"kind":"Pod","apiVersion":"v1","a":["on","1",1.0,1.10,1e400,null,{"b":{},"c":[]},["x",["y"]]],"big":12345678901234567890}"#;
        let expected = "kind: Pod\napiVersion: v1\na:\n- \"on\"\n- \"1\"\n- 1.0\n- 1.10\n- 1e400\n- null\n- b: {}\n  c: []\n- - x\n  - - \"y\"\nbig: 12345678901234567890\n";
        assert_eq!(from_json(json).unwrap(), expected);
    }

    #[test]
    fn texts_of_several_lines_are_blocks() {
        let json = r#"{"a":"one\ntwo\n","b":["x\n\ny"],"c":" x\ny"}"#;
        let expected = "a: |\n  one\n  two\nb:\n- |-\n  x\n\n  y\nc: \" x\\ny\"\n";
        assert_eq!(from_json(json).unwrap(), expected);
    }

    #[test]
    fn a_key_of_more_than_1024_characters_survives_a_round_trip() {
        let long = "k".repeat(LONGEST_KEY + 1);
        for value in ["1", "\"a\\nb\"", "[1,{\"a\":2}]", "{\"a\":[1]}", "[]"] {
            let json = format!("{{\"a\":[{{\"{long}\":{value},\"b\":{{\"{long}\":{value}}}}}]}}");
            let yaml = from_json(&json).unwrap();
            let documents = super::super::read("test.yaml", &yaml).unwrap();
            assert_eq!(documents[0].to_json(), json, "{yaml}");
        }
    }

    #[test]
    fn ambiguous_texts_survive_a_round_trip() {
        let texts = [
            "",
            " a",
            "a ",
            "a: b",
            "a:",
            ":a",
            "# a",
            "a #b",
            "a#b",
            "- a",
            "-a",
            "-",
            "--- a",
            "~",
            "0x1f",
            "1e3",
            "y",
            "no",
            "Off",
            "é\u{2028}\u{7f}\u{85}",
            "a\n b\n",
            "\n\na\n\n",
            "a\n\n",
            "a\nb",
            "a\n \nb",
            "a\r\nb",
            "'\"",
            "it's",
            "a\tb",
            "%a",
            "{a",
            "[",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "@a",
            "`",
            "\"",
            "'",
            "1_000",
            "12:30",
            "2001-01-01",
            "=",
            "<<",
            "null",
            ".inf",
            "0644",
            "a, b",
            "$(X)",
            "?",
            "? a",
            "{\"a\": 1}",
            "\u{feff}a",
            "\u{1f600}",
            "+",
            "...",
            "a\t",
            "\ta\nb",
        ];
        for text in texts {
            let json =
                serde_json::json!({"a": [text, {"b": text}, [text]], text: 1, "c": {"d": text}}).to_string();
            let yaml = from_json(&json).unwrap();
            let documents = super::super::read("test", &yaml).unwrap();
            let read = documents[0].to_json();
            let value: serde_json::Value = serde_json::from_str(&read).unwrap();
            assert_eq!(value, serde_json::from_str::<serde_json::Value>(&json).unwrap(), "{yaml}");
            assert_eq!(documents[0].to_kubectl_json(), read, "{yaml}");
        }
    }

    #[test]
    fn long_strings_are_not_folded() {
        let json = serde_json::json!({"a": "word ".repeat(60).trim()}).to_string();
        assert_eq!(from_json(&json).unwrap().lines().count(), 1);
    }
}
