//! A source as texts of single documents, by the lines that YAML allows nowhere inside one: `---` and `...`.

/// A part of a source that holds one document.
pub(super) struct Piece<'t> {
    /// How many lines stand before it.
    pub(super) line: usize,
    pub(super) text: &'t str,
}

/// The parts of `text` that hold more than comments.
pub(super) fn split(text: &str) -> Vec<Piece<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut pieces = Vec::new();
    let mut open = Open::at(0, 0);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if marks(line, "---") {
            if open.marked || open.content {
                pieces.extend(open.piece(text, at));
                open = Open::at(at, number);
            }
            open.marked = true;
            open.content |= says(line.trim_start_matches("---"));
        } else if marks(line, "...") {
            pieces.extend(open.piece(text, end));
            open = Open::at(end, number + 1);
        } else if line.starts_with('%') && !open.marked && !open.content {
            open.directive = true;
        } else {
            open.content |= says(line);
        }
        at = end;
    }
    pieces.extend(open.piece(text, text.len()));
    pieces
}

struct Open {
    start: usize,
    line: usize,
    /// Whether a directive has come, which stands before the `---` of its document.
    directive: bool,
    /// Whether its `---` has come.
    marked: bool,
    content: bool,
}

impl Open {
    fn at(start: usize, line: usize) -> Self {
        Self { start, line, directive: false, marked: false, content: false }
    }

    fn piece<'t>(&self, text: &'t str, end: usize) -> Option<Piece<'t>> {
        let text = text.get(self.start..end)?;
        (self.content || self.directive && !self.marked).then_some(Piece { line: self.line, text })
    }
}

fn marks(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether the line holds more than a comment.
fn says(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::split;

    fn pieces(text: &str) -> Vec<(usize, &str)> {
        split(text).iter().map(|piece| (piece.line, piece.text)).collect()
    }

    #[test]
    fn at_the_markers() {
        assert_eq!(pieces("a\n---\nb\n--- c\n"), [(0, "a\n"), (1, "---\nb\n"), (3, "--- c\n")]);
        assert_eq!(pieces("# x\n%YAML 1.2\n---\na\n...\n# y\n"), [(0, "# x\n%YAML 1.2\n---\na\n...\n")]);
        assert_eq!(pieces("a\n...\n%TAG ! x\n---\nb"), [(0, "a\n...\n"), (2, "%TAG ! x\n---\nb")]);
        assert_eq!(pieces("a: |\n  ---\n----\n---x\n").len(), 1);
        assert_eq!(pieces("a\r\n---\r\nb\r\n"), [(0, "a\r\n"), (1, "---\r\nb\r\n")]);
    }

    #[test]
    fn nothing_is_no_document() {
        assert!(pieces("").is_empty() && pieces("---\n# x\n---\n...\n---\n").is_empty());
        assert_eq!(pieces("\u{feff}a"), [(0, "a")]);
        assert_eq!(pieces("%TAG"), [(0, "%TAG")]);
    }
}
