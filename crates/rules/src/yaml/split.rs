//! Splits a source into documents at the lines that cannot be part of one: `---` and `...`.

use super::Text;

/// The documents of a source that hold more than comments.
pub(super) fn split(source: Text<'_>) -> Vec<Text<'_>> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let source = Text { text, ..source };
    let mut documents = Vec::new();
    let mut open = OpenDocument::default();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if is_marker(line, "---") {
            if open.has_marker || open.has_content {
                documents.extend(open.finish(source, at));
                open = OpenDocument { start: at, line: number, ..OpenDocument::default() };
            }
            open.has_marker = true;
            open.has_content |= has_content(line.trim_start_matches("---"));
        } else if is_marker(line, "...") {
            documents.extend(open.finish(source, end));
            open = OpenDocument { start: end, line: number + 1, ..OpenDocument::default() };
        } else if line.starts_with('%') && !open.has_marker && !open.has_content {
            open.has_directive = true;
        } else {
            open.has_content |= has_content(line);
        }
        at = end;
    }
    documents.extend(open.finish(source, text.len()));
    documents
}

#[derive(Default)]
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
    /// The document, if it holds more than comments.
    fn finish<'t>(&self, source: Text<'t>, end: usize) -> Option<Text<'t>> {
        let text = source.text.get(self.start..end)?;
        (self.has_content || self.has_directive && !self.has_marker).then_some(Text {
            text,
            lines_before: source.lines_before + self.line,
            ..source
        })
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
        let documents = split(("", text).into());
        documents.iter().map(|document| (document.lines_before, document.text)).collect()
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
