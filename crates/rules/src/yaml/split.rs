//! Splits a source into documents at the lines that cannot be part of one: `---` and `...`.

/// The part of a source that holds one document.
pub(super) struct DocumentText<'t> {
    /// The number of lines before it.
    pub(super) line: usize,
    pub(super) text: &'t str,
}

/// The documents of `text` that hold more than comments.
pub(super) fn split(text: &str) -> Vec<DocumentText<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let mut open = OpenDocument::new(0, 0);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if is_marker(line, "---") {
            if open.has_marker || open.has_content {
                documents.extend(open.finish(text, at));
                open = OpenDocument::new(at, number);
            }
            open.has_marker = true;
            open.has_content |= has_content(line.trim_start_matches("---"));
        } else if is_marker(line, "...") {
            documents.extend(open.finish(text, end));
            open = OpenDocument::new(end, number + 1);
        } else if line.starts_with('%') && !open.has_marker && !open.has_content {
            open.has_directive = true;
        } else {
            open.has_content |= has_content(line);
        }
        at = end;
    }
    documents.extend(open.finish(text, text.len()));
    documents
}

struct OpenDocument {
    start: usize,
    line: usize,
    /// Whether it has a directive, which precedes the `---`.
    has_directive: bool,
    /// Whether its `---` has been read.
    has_marker: bool,
    has_content: bool,
}

impl OpenDocument {
    fn new(start: usize, line: usize) -> Self {
        Self { start, line, has_directive: false, has_marker: false, has_content: false }
    }

    fn finish<'t>(&self, text: &'t str, end: usize) -> Option<DocumentText<'t>> {
        let text = text.get(self.start..end)?;
        (self.has_content || self.has_directive && !self.has_marker)
            .then_some(DocumentText { line: self.line, text })
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether the line holds more than a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::split;

    fn documents(text: &str) -> Vec<(usize, &str)> {
        split(text).iter().map(|document| (document.line, document.text)).collect()
    }

    #[test]
    fn a_source_is_split_at_document_markers() {
        assert_eq!(documents("a\n---\nb\n--- c\n"), [(0, "a\n"), (1, "---\nb\n"), (3, "--- c\n")]);
        assert_eq!(documents("# x\n%YAML 1.2\n---\na\n...\n# y\n"), [(0, "# x\n%YAML 1.2\n---\na\n...\n")]);
        assert_eq!(documents("a\n...\n%TAG ! x\n---\nb"), [(0, "a\n...\n"), (2, "%TAG ! x\n---\nb")]);
        assert_eq!(documents("a: |\n  ---\n----\n---x\n").len(), 1);
        assert_eq!(documents("a\r\n---\r\nb\r\n"), [(0, "a\r\n"), (1, "---\r\nb\r\n")]);
    }

    #[test]
    fn an_empty_source_has_no_documents() {
        assert!(documents("").is_empty() && documents("---\n# x\n---\n...\n---\n").is_empty());
        assert_eq!(documents("\u{feff}a"), [(0, "a")]);
        assert_eq!(documents("%TAG"), [(0, "%TAG")]);
    }
}
