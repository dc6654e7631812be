//! Edits of a text around the values of a document.

use std::ops::Range;

use crate::yaml::{Entry, Node, Value, line_break, line_end, line_start, quote, starts_line};

/// A value that is put around another one.
#[derive(Clone, Copy)]
pub(super) enum Layer {
    /// A map with this key.
    Key(&'static str),
    /// A list of one requirement on a label, whose `values` are the value.
    Requirement { key: &'static str, operator: &'static str },
}

/// Edits of one document. They are applied from the end of the text to its start.
pub(super) struct Edits<'t> {
    text: &'t str,
    /// Whether keys and words are quoted.
    json: bool,
    edits: Vec<(Range<usize>, String)>,
}

impl<'t> Edits<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let json = text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'));
        Self { text, json, edits: Vec::new() }
    }

    pub(super) fn applied(mut self) -> String {
        let mut text = self.text.to_owned();
        // Of two insertions at one place, the earlier one comes first.
        self.edits.reverse();
        self.edits.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
        let newline = line_break(self.text);
        for (range, replacement) in self.edits {
            text.replace_range(range, &replacement.replace("\r\n", "\n").replace('\n', newline));
        }
        text
    }

    /// Gives the key of `entry` another name.
    pub(super) fn rename(&mut self, entry: &Entry, name: &str) {
        let range = entry.range.clone();
        let quoted = self.text.get(range.clone()).is_some_and(|key| key.starts_with(['"', '\'']));
        self.edits.push((range, if quoted { quote(name) } else { name.to_owned() }));
    }

    /// Puts `layers` around the value of `entry`, the outermost first. `more` is a further member or item of the outermost.
    pub(super) fn nest(&mut self, entry: &Entry, layers: &[Layer], more: Option<String>) {
        let value = &entry.value;
        if value.flow {
            return self.nest_in_brackets(value, layers, more.as_deref());
        }
        let start = self.block_start(value);
        let column = self.column(start);
        let key_column = self.column(entry.range.start);
        let lists = matches!(layers.first(), Some(Layer::Requirement { .. }));
        let outermost = if lists || column > key_column { column } else { key_column + 2 };
        let mut indent = outermost;
        let mut head = String::new();
        for layer in layers {
            let spaces = " ".repeat(indent);
            head += &match layer {
                Layer::Key(key) => format!("{spaces}{key}:\n"),
                Layer::Requirement { key, operator } => {
                    format!("{spaces}- key: {key}\n{spaces}  operator: {operator}\n{spaces}  values:\n")
                }
            };
            indent += 2;
        }
        let line = line_start(self.text, start);
        self.edits.push((line..line, head));
        self.indent(line..value.range.end, indent.saturating_sub(column));
        if let Some(more) = more {
            let dash = if lists { "- " } else { "" };
            let end = line_end(self.text, value.range.end);
            self.edits.push((end..end, format!("\n{}{dash}{more}", " ".repeat(outermost))));
        }
    }

    /// Makes the item of a list the `expression` of a map with this name.
    pub(super) fn name_item(&mut self, item: &Node, name: &str, in_brackets: bool) {
        let (name, key) = (self.pair("name", &self.word(name)), self.pair("expression", ""));
        let Range { start, end } = item.range.clone();
        if in_brackets {
            self.edits.push((start..start, format!("{{{name}, {key}")));
            self.edits.push((end..end, "}".to_owned()));
        } else {
            let start = self.scalar_header(start).unwrap_or(start);
            let spaces = " ".repeat(self.column(start));
            self.edits.push((start..start, format!("{name}\n{spaces}{key}")));
            self.indent(line_end(self.text, start) + 1..end, 2);
        }
    }

    /// Rewrites the lines after a `|`, without their common indentation. Other scalars are left alone.
    pub(super) fn rewrite_lines(&mut self, scalar: &Node, rewrite: impl Fn(&str) -> String) {
        let Some(content) = scalar.as_text() else { return };
        let range = line_start(self.text, scalar.range.start)..scalar.range.end;
        let lines = self.text.get(range.clone()).unwrap_or_default();
        let first = lines.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let indent = &first[..first.len() - first.trim_start_matches(' ').len()];
        let bare: String = lines
            .split_inclusive('\n')
            .map(|line| line.strip_prefix(indent).unwrap_or(line.trim_start_matches(' ')))
            .collect();
        // Of a text, YAML reads each line break as `\n`.
        if bare.replace("\r\n", "\n").trim_end() != content.trim_end() {
            return;
        }
        let rewritten = rewrite(&bare);
        if rewritten != bare {
            let indented =
                |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("{indent}{line}") };
            self.edits.push((range, rewritten.split_inclusive('\n').map(indented).collect()));
        }
    }

    /// The text of a list or map in brackets; `None` if that would lose a comment.
    pub(super) fn in_brackets(&self, node: &Node) -> Option<String> {
        let text = self.text.get(node.range.clone())?;
        if node.flow {
            return Some(text.to_owned());
        }
        let of = |node: &Node| Some(self.text.get(node.range.clone())?.to_owned());
        let (open, items, close) = match node.value() {
            Value::List(items) => ('[', items.iter().map(of).collect::<Option<Vec<_>>>()?, ']'),
            Value::Map(entries) => {
                let pair =
                    |entry: &Entry| Some(self.pair(self.text.get(entry.range.clone())?, &of(&entry.value)?));
                ('{', entries.iter().map(pair).collect::<Option<Vec<_>>>()?, '}')
            }
            Value::Scalar(_) => return None,
        };
        (!text.contains('#')).then(|| format!("{open}{}{close}", items.join(", ")))
    }

    /// Removes `entry` from `map`.
    pub(super) fn remove(&mut self, entry: &Entry, map: &Node) {
        let (start, end) = (entry.range.start, entry.value.range.end);
        let entries = map.as_map().unwrap_or_default();
        let index = entries.iter().position(|one| one.key == entry.key).unwrap_or_default();
        let next = entries.get(index + 1).map(|next| next.range.start);
        let previous = index.checked_sub(1).and_then(|index| entries.get(index));
        let range = match (map.flow, next, previous) {
            (true, Some(next), _) => start..next,
            (true, None, Some(previous)) => previous.value.range.end..end,
            // The first of several members on the line of a dash.
            (false, Some(next), _) if !starts_line(self.text, start) => start..next,
            (false, ..) if self.rest_of_line(end).trim().is_empty() => {
                // With the line break before it: the last line of a text may have none.
                let line = line_start(self.text, start);
                let above = line.checked_sub(1).map_or(0, |at| line_end(self.text, at));
                above..line_end(self.text, end)
            }
            _ => start..end,
        };
        self.edits.push((range, String::new()));
    }

    /// `key: value`, with the key in quotes if the document is JSON.
    pub(super) fn pair(&self, key: &str, value: &str) -> String {
        let key = if self.json && !key.starts_with('"') { quote(key) } else { key.to_owned() };
        format!("{key}: {value}")
    }

    pub(super) fn word(&self, word: &str) -> String {
        if self.json { quote(word) } else { word.to_owned() }
    }

    fn nest_in_brackets(&mut self, value: &Node, layers: &[Layer], more: Option<&str>) {
        let (mut before, mut behind) = (String::new(), String::new());
        for (depth, layer) in layers.iter().enumerate() {
            let more = more.filter(|_| depth == 0).map(|more| format!(", {more}")).unwrap_or_default();
            let close = match layer {
                Layer::Key(key) => {
                    before += &format!("{{{}", self.pair(key, ""));
                    format!("{more}}}")
                }
                Layer::Requirement { key, operator } => {
                    let [key, operator] =
                        [self.pair("key", &self.word(key)), self.pair("operator", &self.word(operator))];
                    before += &format!("[{{{key}, {operator}, {}", self.pair("values", ""));
                    format!("}}{more}]")
                }
            };
            behind = close + &behind;
        }
        let Range { start, end } = value.range.clone();
        self.edits.push((start..start, before));
        self.edits.push((end..end, behind));
    }

    /// The first key or dash of a map or list in lines.
    fn block_start(&self, node: &Node) -> usize {
        let first = node.as_list().and_then(<[Node]>::first).map(|item| item.range.start);
        let before = first.and_then(|first| self.text.get(..first)).unwrap_or_default().trim_end();
        before.strip_suffix('-').map_or(node.range.start, str::len)
    }

    /// The `|` or `>` before the lines of a block scalar, which start at `at`.
    fn scalar_header(&self, at: usize) -> Option<usize> {
        let start = line_start(self.text, at);
        let above = self.text.get(line_start(self.text, start.checked_sub(1)?)..start)?;
        let above = above.split_once(" #").map_or(above, |(above, _)| above).trim_end();
        let header = above.rsplit(' ').next().filter(|word| word.starts_with(['|', '>']))?;
        Some(line_start(self.text, start - 1) + above.len() - header.len())
            .filter(|_| starts_line(self.text, at))
    }

    /// Indents the lines that start in `range` further.
    fn indent(&mut self, range: Range<usize>, spaces: usize) {
        let lines =
            self.text.get(range.start..range.end.max(range.start)).unwrap_or_default().split_inclusive('\n');
        let mut at = range.start;
        for line in lines {
            if !line.trim().is_empty() {
                self.edits.push((at..at, " ".repeat(spaces)));
            }
            at += line.len();
        }
    }

    fn column(&self, at: usize) -> usize {
        let before = self.text.get(line_start(self.text, at)..at).unwrap_or_default();
        before.chars().count()
    }

    fn rest_of_line(&self, at: usize) -> &str {
        self.text.get(at..line_end(self.text, at)).unwrap_or_default()
    }
}
