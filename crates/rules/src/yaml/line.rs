//! Lines of a text, by the offsets of bytes.

/// The start of the line of `at`.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
}

/// The end of the line of `at`, before its line break.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let end = at + rest.find('\n').unwrap_or(rest.len());
    match text.get(..end) {
        Some(line) if line.ends_with('\r') => end - 1,
        _ => end,
    }
}

/// The line break of `text`.
pub(crate) fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Whether only white space precedes `at` on its line.
pub(crate) fn starts_line(text: &str, at: usize) -> bool {
    text.get(line_start(text, at)..at).unwrap_or_default().trim().is_empty()
}
