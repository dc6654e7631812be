//! Lines of a text, by the offsets of bytes.

/// The start of the line of `at`.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// Whether only white space precedes `at` on its line.
pub(crate) fn starts_line(text: &str, at: usize) -> bool {
    text.get(line_start(text, at)..at).unwrap_or_default().trim().is_empty()
}
