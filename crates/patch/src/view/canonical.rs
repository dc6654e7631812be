//! One text for all spellings of the same value.

use std::fmt::Write as _;

use super::{Kind, MAX_RECURSION, View};

impl View<'_> {
    /// A text that is equal for all spellings of this value, as a key for lookups: two values are [`same_as`](Self::same_as) each other
    /// if their texts are equal. Values below 128 levels are copied as they are written. It is not JSON.
    pub fn canonical(self) -> String {
        let mut text = String::new();
        write(self, MAX_RECURSION, &mut text);
        text
    }
}

/// `levels` is the number of further levels that are opened; deeper values are copied as they are written.
fn write(view: View<'_>, levels: usize, text: &mut String) {
    match view.kind() {
        Kind::Array if levels > 0 => {
            text.push('[');
            for item in view.items() {
                write(item, levels - 1, text);
                text.push(',');
            }
            text.push(']');
        }
        Kind::Object if levels > 0 => {
            let mut entries = view.entries();
            entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            text.push('{');
            for (name, value) in entries {
                write_string(&name, text);
                write(value, levels - 1, text);
                text.push(',');
            }
            text.push('}');
        }
        Kind::String => write_string(&view.as_str().unwrap_or_default(), text),
        _ => text.push_str(&view.to_json()),
    }
}

/// The length comes first, so that nothing needs to be escaped.
fn write_string(plain: &str, text: &mut String) {
    let _ = write!(text, "\"{}:{plain}", plain.len());
}
