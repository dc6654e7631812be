//! Applies operations to the documents of a text in place.

use anyhow::Context;
use vestibule::patch::Operation;
use vestibule_rules::{Decision, yaml};

use crate::evaluation::Evaluation;
use crate::objects::ObjectSource;
use crate::{say, workload};

/// A document with its `---`, and the text up to the next one.
#[derive(Debug, PartialEq, Eq)]
struct Part<'t> {
    /// The first line, from 1.
    line: usize,
    text: &'t str,
}

/// The text of `source` after the operations on its objects.
pub(super) fn patched(
    source: &ObjectSource,
    evaluations: &[&Evaluation<'_, Decision>],
) -> anyhow::Result<String> {
    let parts = parts(&source.text);
    let mut text = String::with_capacity(source.text.len());
    for (index, part) in parts.iter().enumerate() {
        let end = parts.get(index + 1).map_or(usize::MAX, |next| next.line);
        let inside = |line: usize| (part.line..end).contains(&line);
        let own = evaluations.iter().filter(|evaluation| inside(evaluation.object.document_line));
        let mut operations: Vec<Operation> = Vec::new();
        let mut place = String::new();
        for evaluation in own.filter(|evaluation| !evaluation.operations.is_empty()) {
            place = evaluation.object.place();
            operations.extend(workload::under(&evaluation.operations, evaluation.object.pointer.as_str())?);
        }
        if operations.is_empty() {
            text.push_str(part.text);
            continue;
        }
        let patched = yaml::patch(part.text, &operations).with_context(|| place.clone())?;
        if let Some(yaml::RewriteReason { line, why }) = &patched.rewritten {
            let at = line.map(|line| format!(", for line {}", part.line + line - 1)).unwrap_or_default();
            say(format_args!(
                "note: the document of {place} is written anew{at}: {why}; its comments are lost"
            ));
        }
        text.push_str(&patched.text);
    }
    Ok(text)
}

/// Appends the text of another file as separate documents.
pub(super) fn append(text: &mut String, other: &str) {
    let mut other = other;
    if !text.is_empty() {
        // A byte order mark is allowed at the start of a stream only.
        other = other.trim_start_matches('\u{feff}');
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if !other.starts_with("---") {
            text.push_str("---\n");
        }
    }
    text.push_str(other);
}

/// Splits at `---` and `...` at the start of a line, which mark documents even inside quotes and blocks.
fn parts(text: &str) -> Vec<Part<'_>> {
    let is_mark = |line: &str, mark: &str| {
        line.strip_prefix(mark)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut parts = Vec::new();
    let (mut start, mut first, mut at) = (0, 1, 0);
    let mut push = |start: usize, end: usize, line| {
        if let Some(text) = text.get(start..end).filter(|text| !text.is_empty()) {
            parts.push(Part { line, text });
        }
    };
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_mark(line, "---") {
            push(start, at, first);
            (start, first) = (at, index + 1);
        }
        at += line.len();
        if is_mark(line, "...") {
            push(start, at, first);
            (start, first) = (at, index + 2);
        }
    }
    push(start, text.len(), first);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_text_add_up_to_it() {
        let text = "# a\na: 1\n---\n# none\n--- # b\nb: |\n  ---\n...\n# c\nc: 1";
        let found = parts(text);
        assert_eq!(found.iter().map(|part| part.text).collect::<String>(), text);
        let lines: Vec<_> = found.iter().map(|part| (part.line, part.text.lines().next().unwrap())).collect();
        assert_eq!(lines, [(1, "# a"), (3, "---"), (5, "--- # b"), (9, "# c")]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn files_are_separate_documents() {
        for (one, other, expected) in [
            ("", "a", "a"),
            ("a", "b", "a\n---\nb"),
            ("a\n", "---\nb\n", "a\n---\nb\n"),
            ("a\n", "b\n", "a\n---\nb\n"),
            ("\u{feff}a\n", "\u{feff}b\n", "\u{feff}a\n---\nb\n"),
            ("a\n", "\u{feff}---\nb\n", "a\n---\nb\n"),
        ] {
            let mut text = one.to_owned();
            append(&mut text, other);
            assert_eq!(text, expected);
        }
    }
}
