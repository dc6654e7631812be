//! Reads JSON documents. The YAML parser would refuse some of them: YAML forbids characters in strings that JSON
//! allows (U+007F), and limits the length of keys.

use vestibule_patch::Document;

use super::{Builder, Content, Diagnostic, HashMap, Node, Position};

/// Whether `text` is one JSON object or array.
pub(in crate::yaml) fn is_json(text: &str) -> bool {
    text.trim_start_matches(SPACE).starts_with(['{', '[']) && Document::parse(text).is_ok()
}

/// Splits `text` into a leading `---`, if there is one, and the rest.
pub(in crate::yaml) fn after_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix("---") {
        Some(rest) if rest.starts_with(SPACE) => text.split_at(3),
        _ => ("", text),
    }
}

/// Reads `text`, which [`is_json`] has checked. `mark` is the text before it on its first line.
pub(super) fn read(mark: &str, text: &str, builder: &mut Builder<'_>) -> Result<Option<Node>, Diagnostic> {
    let mut cursor = Cursor { rest: text, line: 1, column: mark.len() };
    while let Some(first) = cursor.skip_space() {
        let at: Position = builder.position(cursor.line, cursor.column);
        match first {
            '{' => {
                let content = Content::Map { entries: Vec::new(), seen: HashMap::new(), key: None };
                builder.begin(at, 0, content)?;
                cursor.take(1);
            }
            '[' => {
                builder.begin(at, 0, Content::List(Vec::new()))?;
                cursor.take(1);
            }
            '}' | ']' => {
                builder.end()?;
                cursor.take(1);
            }
            ',' | ':' => drop(cursor.take(1)),
            '"' => {
                let string = cursor.take(string_length(cursor.rest));
                builder.scalar(unescaped(string), true, at, 0)?;
            }
            _ => {
                let ends =
                    |character: char| matches!(character, ',' | ']' | '}') || SPACE.contains(&character);
                let word = cursor.take(cursor.rest.find(ends).unwrap_or(cursor.rest.len()));
                builder.scalar(word.to_owned(), false, at, 0)?;
            }
        }
    }
    Ok(builder.root.take())
}

/// Whitespace (RFC 8259, section 2).
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The rest of a text and its location: lines count from 1, columns from 0.
struct Cursor<'t> {
    rest: &'t str,
    line: usize,
    column: usize,
}

impl<'t> Cursor<'t> {
    /// The next character that is not whitespace.
    fn skip_space(&mut self) -> Option<char> {
        loop {
            let next = self.rest.chars().next()?;
            if !SPACE.contains(&next) {
                return Some(next);
            }
            self.take(1);
            if next == '\n' {
                (self.line, self.column) = (self.line + 1, 0);
            }
        }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }
}

/// The length in bytes of the string at the start of `text`, including its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn unescaped(string: &str) -> String {
    if !string.contains('\\') {
        return string.trim_matches('"').to_owned();
    }
    let read = Document::parse(string).ok();
    read.and_then(|read| Some(read.view().as_str()?.into_owned())).unwrap_or_default()
}
