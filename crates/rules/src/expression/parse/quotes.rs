//! The start and the end of quoted texts and bytes.

pub(super) const UNENDED: &str = "a text does not end, or is out of place here";

/// Whether the literal at the start of `rest` is bytes rather than text, and its length; no length where it does not end.
/// `None` where `rest` begins with neither.
pub(super) fn quoted(rest: &str) -> Option<(bool, Option<usize>)> {
    let Opening { bytes, raw, before, quotes } = Opening::of(rest)?;
    let mut at = before + quotes.len();
    loop {
        let tail = rest.get(at..).unwrap_or_default();
        if tail.starts_with(quotes) {
            return Some((bytes, Some(at + quotes.len())));
        }
        let mut letters = tail.chars();
        match letters.next() {
            None => return Some((bytes, None)),
            Some('\n' | '\r') if quotes.len() == 1 => return Some((bytes, None)),
            Some('\\') if !raw => at += 1 + letters.next().map_or(0, char::len_utf8),
            Some(letter) => at += letter.len_utf8(),
        }
    }
}

/// The start of a text or of bytes.
pub(super) struct Opening<'t> {
    pub(super) bytes: bool,
    pub(super) raw: bool,
    /// The length of `b` and `r` before the quotes.
    pub(super) before: usize,
    /// One or three quotes.
    pub(super) quotes: &'t str,
}

impl<'t> Opening<'t> {
    pub(super) fn of(rest: &'t str) -> Option<Self> {
        let behind = rest.strip_prefix(['b', 'B']).unwrap_or(rest);
        let text = behind.strip_prefix(['r', 'R']).unwrap_or(behind);
        let quote = text.get(..1).filter(|quote| matches!(*quote, "'" | "\""))?;
        let triple = text.get(..3).filter(|three| *three == quote.repeat(3));
        Some(Self {
            bytes: behind.len() < rest.len(),
            raw: text.len() < behind.len(),
            before: rest.len() - text.len(),
            quotes: triple.unwrap_or(quote),
        })
    }
}
