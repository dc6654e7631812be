//! The words of an expression, before anybody parses it: where names stand, and how much of an expression it is.

/// A name, and what stands around it.
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    /// Where it starts, in bytes.
    pub(super) offset: usize,
    /// Whether a dot stands before it.
    pub(super) member: bool,
    /// Whether it is called.
    pub(super) called: bool,
}

/// What a look over an expression tells.
pub(super) struct Scan<'t> {
    pub(super) words: Vec<Word<'t>>,
    /// Operators, dots and opening brackets: no expression nests deeper than it has of them.
    pub(super) links: usize,
    /// How deep brackets and choices (`? :`) stand in each other.
    pub(super) nesting: usize,
}

/// Looks over `text`. What is no CEL at all is the parser's to say.
pub(super) fn scan(text: &str) -> Scan<'_> {
    let mut scan = Scan { words: Vec::new(), links: 0, nesting: 0 };
    let (mut open, mut choices) = (0_usize, 0);
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let offset = text.len() - rest.len();
        let length = if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if after.starts_with(['"', '\'']) && word.len() <= 2 {
                end + literal(after, word.contains(['r', 'R']))
            } else {
                let called = after.trim_start().starts_with('(');
                scan.words.push(Word { text: word, offset, member: before == '.', called });
                scan.links += usize::from(word == "in");
                end
            }
        } else if first == '"' || first == '\'' {
            literal(rest, false)
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            scan.links +=
                usize::from(first.is_ascii_punctuation() && !matches!(first, ',' | ')' | ']' | '}'));
            match first {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open = open.saturating_sub(1),
                ':' => choices += 1,
                _ => {}
            }
            scan.nesting = scan.nesting.max(open + choices);
            first.len_utf8()
        };
        // `.?name` and `[?name]`: the mark is part of the operator.
        if !(first.is_whitespace() || first == '?' && before == '.') {
            before = first;
        }
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    scan
}

/// The length of the text literal that `rest` starts with.
fn literal(rest: &str, raw: bool) -> usize {
    let quote = rest.get(..1).unwrap_or_default();
    let triple = quote.repeat(3);
    let quotes = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = quotes.len();
    while let Some(tail) = rest.get(at..) {
        let Some(next) = tail.chars().next() else { break };
        if tail.starts_with(quotes) {
            return at + quotes.len();
        }
        at += next.len_utf8();
        if next == '\\' && !raw {
            at += rest.get(at..).and_then(|tail| tail.chars().next()).map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn finds_names_and_leaves_texts_alone() {
        let scan = scan("a.b('c.d(' + r'\\' + \"x\\\"y\") // z.z\n && e in f.?g[?h]");
        let words: Vec<(&str, bool, bool)> =
            scan.words.iter().map(|word| (word.text, word.member, word.called)).collect();
        let wanted = [
            ("a", false, false),
            ("b", true, true),
            ("e", false, false),
            ("in", false, false),
            ("f", false, false),
            ("g", true, false),
            ("h", false, false),
        ];
        assert_eq!(words, wanted);
        assert!(scan.links < 14 && scan.nesting == 1, "{} {}", scan.links, scan.nesting);
    }

    #[test]
    fn every_text_ends() {
        for text in ["'", "'''", "r'", "'\\", "\"\\\u{e9}", "é", "'é", "b'", "//"] {
            assert!(scan(text).words.len() < 2, "{text}");
        }
    }
}
