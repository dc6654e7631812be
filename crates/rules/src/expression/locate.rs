//! Finds the place of a part of an expression in the YAML source. Quotes, folding, escapes and indentation make the source
//! differ from the text of the expression.

use crate::diagnostic::Position;

/// The place in `source` of the byte `offset` of `text`, which is the value of the YAML scalar at `start`.
pub(super) fn locate(source: &str, start: Position, text: &str, offset: usize) -> Position {
    find(source, start, text, offset).unwrap_or(start)
}

fn find(source: &str, start: Position, text: &str, offset: usize) -> Option<Position> {
    let from = byte_of(source, start)?;
    let raw = source.get(from..)?;
    let quote = raw.chars().next().filter(|first| matches!(first, '"' | '\''));
    let mut at = if raw.starts_with(['|', '>']) { raw.find('\n')? } else { quote.map_or(0, char::len_utf8) };
    for (index, wanted) in text.char_indices() {
        at = skip(raw, at, wanted, quote)?;
        if index >= offset {
            return Some(position_of(source, from + at));
        }
        at += width(raw.get(at..)?, quote);
    }
    // `offset` is the end of the text.
    Some(position_of(source, from + at))
}

/// The place of the character `wanted` at or after `at`. Spaces that YAML drops are skipped.
fn skip(raw: &str, mut at: usize, wanted: char, quote: Option<char>) -> Option<usize> {
    // YAML folds a line break to a space and an empty line to a line break: any space stands for any other.
    if wanted.is_whitespace() && raw.get(at..)?.starts_with(char::is_whitespace) {
        return Some(at);
    }
    while let Some(found) = raw.get(at..)?.chars().next() {
        let escaped = quote == Some('"') && found == '\\';
        if found == wanted || escaped {
            return Some(at);
        }
        if !found.is_whitespace() {
            return None;
        }
        at += found.len_utf8();
    }
    None
}

/// The bytes of the source for the next character; an escape has several.
fn width(raw: &str, quote: Option<char>) -> usize {
    let mut chars = raw.chars();
    let first = chars.next().map_or(0, char::len_utf8);
    match (quote, raw.as_bytes().first(), chars.next()) {
        (Some('"'), Some(b'\\'), Some(kind)) => {
            let digits = match kind {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            first + kind.len_utf8() + digits
        }
        (Some('\''), Some(b'\''), Some('\'')) => 2,
        _ => first,
    }
}

fn byte_of(source: &str, position: Position) -> Option<usize> {
    let line = source.split_inclusive('\n').take(position.line.checked_sub(1)?).map(str::len).sum::<usize>();
    let rest = source.get(line..)?;
    let column = position.column.checked_sub(1)?;
    Some(line + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
}

fn position_of(source: &str, byte: usize) -> Position {
    let before = source.get(..byte).unwrap_or(source);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Position { line: 1 + before.matches('\n').count(), column: 1 + line.chars().count() }
}

#[cfg(test)]
mod tests {
    use super::locate;
    use crate::yaml::{Node, read};

    fn place(yaml: &str, word: &str) -> String {
        let documents = read("a.yaml", yaml).unwrap();
        let node = documents[0].root().get("a").unwrap();
        let node = node.as_list().and_then(<[Node]>::first).unwrap_or(node);
        let text = node.as_text().unwrap();
        locate(yaml, node.at(), text, text.find(word).unwrap()).to_string()
    }

    #[test]
    fn every_style_of_yaml() {
        assert_eq!(place("a: x + here\n", "here"), "1:8");
        assert_eq!(place("a: \"x \\\"é\\u00e9 + here\"\n", "here"), "1:19");
        assert_eq!(place("a: 'x ''y'' + here'\n", "here"), "1:15");
        assert_eq!(place("a: |\n  x\n    + here\n", "here"), "3:7");
        assert_eq!(place("a: >-\n  x\n  + here\n", "here"), "3:5");
        assert_eq!(place("a:\n- x\n  + here\n", "here"), "3:5");
        assert_eq!(place("a: \"x\n   + here\"\n", "here"), "2:6");
    }
}
