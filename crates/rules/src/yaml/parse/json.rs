//! Reads JSON documents. The YAML parser would refuse some of them: YAML forbids characters in strings that JSON
//! allows (U+007F), and limits the length of keys.

use granit_parser::{Event, ScalarStyle, StructureStyle};
use vestibule_patch::Document;

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

/// Whitespace (RFC 8259, section 2).
pub(in crate::yaml) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The events of a text that [`is_json`] has checked, each with its line, from 1, and its column, from 0.
pub(super) struct Events<'t> {
    rest: &'t str,
    line: usize,
    column: usize,
}

impl<'t> Events<'t> {
    /// `mark` is the text before `text` on its first line.
    pub(super) fn new(mark: &str, text: &'t str) -> Self {
        Self { rest: text, line: 1, column: mark.len() }
    }

    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }
}

impl<'t> Iterator for Events<'t> {
    type Item = (Event<'t>, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (line, column) = (self.line, self.column);
            let length = match self.rest.chars().next()? {
                '"' => string_length(self.rest),
                '{' | '[' | '}' | ']' | ',' | ':' | ' ' | '\t' | '\n' | '\r' => 1,
                _ => self.rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(self.rest.len()),
            };
            let token = self.take(length);
            let event = match token {
                "{" => Event::MappingStart(StructureStyle::Flow, 0, None),
                "[" => Event::SequenceStart(StructureStyle::Flow, 0, None),
                "}" => Event::MappingEnd,
                "]" => Event::SequenceEnd,
                "," | ":" | " " | "\t" | "\r" => continue,
                "\n" => {
                    (self.line, self.column) = (line + 1, 0);
                    continue;
                }
                string if string.starts_with('"') => {
                    Event::Scalar(unescaped(string).into(), ScalarStyle::DoubleQuoted, 0, None)
                }
                word => Event::Scalar(word.into(), ScalarStyle::Plain, 0, None),
            };
            return Some((event, line, column));
        }
    }
}

/// The length in bytes of the string at the start of `text`, including its quotes.
pub(in crate::yaml) fn string_length(text: &str) -> usize {
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
