//! Edits a YAML text in place for one operation.

use std::ops::Range;

use vestibule_patch::{Document, Pointer, View};

use super::RewriteReason;
use crate::yaml::emit::Layout;
use crate::yaml::{Entry, Node, Value, line_break, line_end, line_start, parse, quote, starts_line};

/// A text and its tree. Each edit returns a new text.
pub(super) struct Editor<'t> {
    text: &'t str,
    root: Node,
    layout: Layout,
    newline: &'static str,
}

/// A value in the tree and the key or dash before it.
struct Found<'n> {
    node: &'n Node,
    holder: Holder<'n>,
}

#[derive(Clone, Copy)]
enum Holder<'n> {
    Root,
    Key(&'n Entry),
    Dash,
}

impl<'t> Editor<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, RewriteReason> {
        let (root, anchor) = parse::first_document(text).ok_or(RewriteReason::unusual(None))?;
        if let Some(line) = anchor {
            return Err(RewriteReason { line: Some(line), why: "an anchor" });
        }
        let mut editor = Self { text, root, layout: Layout::default(), newline: line_break(text) };
        editor.layout.lists_indented = editor.lists_are_indented(&editor.root).unwrap_or_default();
        Ok(editor)
    }

    pub(super) fn add(&self, path: &Pointer, value: View<'_>) -> Result<String, RewriteReason> {
        let (parent, token) = path.split_last().ok_or(RewriteReason::unusual(None))?;
        let found = self.find(&parent)?;
        if found.node.is_empty_flow() {
            return self.fill_empty(&found, &token, value);
        }
        self.refuse_flow(found.node)?;
        match &found.node.value {
            Value::Map(entries) => match entries.iter().find(|entry| entry.key == token) {
                Some(entry) => {
                    self.replace_value(&Found { node: &entry.value, holder: Holder::Key(entry) }, value)
                }
                None => {
                    let first = entries.first().ok_or(self.unusual(found.node))?;
                    let mut lines = Vec::new();
                    self.layout.entry(&token, value, self.column(first.range.start)?, &mut lines);
                    Ok(self.insert(self.text, found.node.range.end, &lines))
                }
            },
            Value::List(items) => {
                let index = if token == "-" { items.len() } else { position(&token)? };
                self.add_item(&found, items, index, value)
            }
            Value::Scalar(_) => Err(self.unusual(found.node)),
        }
    }

    pub(super) fn replace(&self, path: &Pointer, value: View<'_>) -> Result<String, RewriteReason> {
        let found = self.find(path)?;
        self.replace_value(&found, value)
    }

    pub(super) fn remove(&self, path: &Pointer) -> Result<String, RewriteReason> {
        let (parent, token) = path.split_last().ok_or(RewriteReason::unusual(None))?;
        let found = self.find(&parent)?;
        self.refuse_flow(found.node)?;
        match &found.node.value {
            Value::Map(entries) => {
                let index = entries.iter().position(|entry| entry.key == token);
                let index = index.ok_or(self.unusual(found.node))?;
                let entry = entries.get(index).ok_or(self.unusual(found.node))?;
                let next = entries.get(index + 1).map(|entry| entry.range.start);
                if entries.len() == 1 {
                    return self.replace_by_json(&found, "{}");
                }
                self.delete(entry.range.start, entry.value.range.end.max(entry.range.end), next)
            }
            Value::List(items) => {
                let item = items.get(position(&token)?).ok_or(self.unusual(found.node))?;
                if items.len() == 1 {
                    return self.replace_by_json(&found, "[]");
                }
                self.delete(self.dash(item)?, item.range.end, None)
            }
            Value::Scalar(_) => Err(self.unusual(found.node)),
        }
    }

    /// The value at `path`, unless a value on the way is in flow style.
    fn find<'n>(&'n self, path: &Pointer) -> Result<Found<'n>, RewriteReason> {
        let mut found = Found { node: &self.root, holder: Holder::Root };
        for token in path.tokens() {
            let node = found.node;
            self.refuse_flow(node)?;
            found = match &node.value {
                Value::Map(entries) => {
                    let entry = entries.iter().find(|entry| entry.key == token).ok_or(self.unusual(node))?;
                    Found { node: &entry.value, holder: Holder::Key(entry) }
                }
                Value::List(items) => {
                    let item = items.get(position(&token)?).ok_or(self.unusual(node))?;
                    Found { node: item, holder: Holder::Dash }
                }
                Value::Scalar(_) => return Err(self.unusual(node)),
            };
        }
        Ok(found)
    }

    /// Adds the first member or item to an empty map or list.
    fn fill_empty(&self, found: &Found<'_>, token: &str, value: View<'_>) -> Result<String, RewriteReason> {
        let value = value.to_json();
        match (found.holder, &found.node.value) {
            (Holder::Root | Holder::Dash, _) => Err(RewriteReason::flow(self.line(found.node))),
            (_, Value::Map(_)) => self.replace_by_json(found, &format!("{{{}:{value}}}", quote(token))),
            _ => self.replace_by_json(found, &format!("[{value}]")),
        }
    }

    fn replace_by_json(&self, found: &Found<'_>, json: &str) -> Result<String, RewriteReason> {
        let value = Document::parse(json).map_err(|_| self.unusual(found.node))?;
        self.replace_value(found, value.view())
    }

    fn add_item(
        &self,
        found: &Found<'_>,
        items: &[Node],
        index: usize,
        value: View<'_>,
    ) -> Result<String, RewriteReason> {
        let first = items.first().ok_or(self.unusual(found.node))?;
        let dash = self.dash(first)?;
        let mut lines = Vec::new();
        self.layout.item(value, self.column(dash)?, &mut lines);
        let before = index.checked_sub(1).and_then(|index| items.get(index));
        match (before, found.holder) {
            (Some(item), _) => Ok(self.insert(self.text, item.range.end.max(self.dash(item)? + 1), &lines)),
            // The new first item goes above the comments of the previous one.
            (None, Holder::Key(entry)) if starts_line(self.text, dash) => {
                Ok(self.insert(self.text, entry.range.end, &lines))
            }
            (None, _) => Err(self.unusual(found.node)),
        }
    }

    /// Replaces the value that was found.
    fn replace_value(&self, found: &Found<'_>, value: View<'_>) -> Result<String, RewriteReason> {
        match found.holder {
            Holder::Root => Err(self.unusual(found.node)),
            Holder::Key(entry) => {
                let (head, lines) = self.layout.member(value, self.column(entry.range.start)?);
                let behind = self.behind_colon(entry);
                let text = self.replaced(behind.clone(), &head);
                Ok(self.insert(&text, behind.start + head.len(), &lines))
            }
            Holder::Dash => {
                let dash = self.dash(found.node)?;
                let mut lines = Vec::new();
                self.layout.item(value, self.column(dash)?, &mut lines);
                let lines = lines.join(self.newline);
                Ok(self.replaced(dash..found.node.range.end.max(dash + 1), lines.trim_start_matches(' ')))
            }
        }
    }

    /// The range from the end of the colon to the end of the value.
    fn behind_colon(&self, entry: &Entry) -> Range<usize> {
        let rest = self.text.get(entry.range.end..).unwrap_or_default();
        let colon = entry.range.end + rest.find(':').map_or(0, |distance| distance + 1);
        colon..entry.value.range.end.max(colon)
    }

    /// Deletes `start..end` with its line, or up to `next` if the line starts with something else.
    fn delete(&self, start: usize, end: usize, next: Option<usize>) -> Result<String, RewriteReason> {
        if !starts_line(self.text, start) {
            let next = next.ok_or(RewriteReason::unusual(None))?;
            // Comments below it belong to the next value, which now starts the line.
            let between = self.text.get(line_end(self.text, end).min(next)..next).unwrap_or_default();
            let comments = between.lines().filter(|line| line.trim_start().starts_with('#'));
            let comments: String = comments.map(|line| format!("{line}{}", self.newline)).collect();
            let mut text = self.replaced(start..next, "");
            text.insert_str(line_start(self.text, start), &comments);
            return Ok(text);
        }
        let (start, end) = (line_start(self.text, start), line_end(self.text, end));
        let rest = self.text.get(end..).unwrap_or_default();
        let newline = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        match (newline, start) {
            // The last line has no line break, so the line before it loses its own.
            (0, 1..) => {
                let before = self.text.get(..start).unwrap_or_default();
                let before = before.strip_suffix('\n').unwrap_or(before);
                Ok(before.strip_suffix('\r').unwrap_or(before).to_owned())
            }
            _ => Ok(self.replaced(start..end + newline, "")),
        }
    }

    /// Inserts `lines` into `text`, below the line of `at`.
    fn insert(&self, text: &str, at: usize, lines: &[String]) -> String {
        let at = line_end(text, at);
        let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
        let lines: String = lines.iter().map(|line| format!("{}{line}", self.newline)).collect();
        format!("{before}{lines}{after}")
    }

    fn replaced(&self, range: Range<usize>, words: &str) -> String {
        let before = self.text.get(..range.start).unwrap_or_default();
        let after = self.text.get(range.end..).unwrap_or_default();
        format!("{before}{words}{after}")
    }

    /// The dash of an item of a block list, on the line of the item or above it.
    fn dash(&self, item: &Node) -> Result<usize, RewriteReason> {
        let before = self.text.get(..item.range.start).unwrap_or_default().trim_end();
        // The range of an empty item starts after its dash.
        before.ends_with('-').then(|| before.len() - 1).ok_or_else(|| self.unusual(item))
    }

    /// The column of `at`. It is unknown after a tab, whose width is not defined.
    fn column(&self, at: usize) -> Result<usize, RewriteReason> {
        let before = self.text.get(line_start(self.text, at)..at).unwrap_or_default();
        if before.contains('\t') {
            return Err(RewriteReason { line: Some(self.line_of(at)), why: "a tab" });
        }
        Ok(before.chars().filter(|character| *character != '\u{feff}').count())
    }

    fn line_of(&self, at: usize) -> usize {
        1 + self.text.get(..at).unwrap_or_default().matches('\n').count()
    }

    fn line(&self, node: &Node) -> usize {
        self.line_of(node.range.start)
    }

    fn refuse_flow(&self, node: &Node) -> Result<(), RewriteReason> {
        if node.flow { Err(RewriteReason::flow(self.line(node))) } else { Ok(()) }
    }

    fn unusual(&self, node: &Node) -> RewriteReason {
        RewriteReason::unusual(Some(self.line(node)))
    }

    /// Whether the first list below a key is indented further than the key.
    fn lists_are_indented(&self, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Map(entries) => entries.iter().find_map(|entry| match &entry.value.value {
                Value::List(items) if !entry.value.flow => {
                    let dash = self.dash(items.first()?).ok()?;
                    Some(self.column(dash).ok()? > self.column(entry.range.start).ok()?)
                }
                _ => self.lists_are_indented(&entry.value),
            }),
            Value::List(items) => items.iter().find_map(|item| self.lists_are_indented(item)),
            Value::Scalar(_) => None,
        }
    }
}

fn position(token: &str) -> Result<usize, RewriteReason> {
    token.parse().map_err(|_| RewriteReason::unusual(None))
}
