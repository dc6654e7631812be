//! One text for all spellings of a value.

use std::fmt::Write as _;

use super::{Kind, MAX_RECURSION, View};

impl View<'_> {
    /// The text all spellings of this value share, to find it among many: two values are [`same_as`](Self::same_as) each
    /// other where their texts are equal. It is no JSON.
    pub fn canonical(self) -> String {
        let mut text = String::new();
        write(self, MAX_RECURSION, &mut text);
        text
    }
}

/// `levels` is how many more levels are opened; what lies deeper is taken as it is written.
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

/// Told apart by its length, so that nothing needs to be escaped.
fn write_string(plain: &str, text: &mut String) {
    let _ = write!(text, "\"{}:{plain}", plain.len());
}
