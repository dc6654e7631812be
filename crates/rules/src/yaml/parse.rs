//! Builds trees from the events of a YAML or JSON text.

mod json;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StrInput, StructureStyle};
pub(super) use json::{SPACE, after_mark, is_json, string_length};

use super::split::split;
use super::{Document, Entry, MAX_COPIES, MAX_DEPTH, MAX_NODES, Node, Position, Scalar, Text, Value};
use crate::diagnostic::{self, Code, Diagnostic, MAX_FINDINGS, Source};

/// The result of parsing a source.
#[derive(Default)]
pub(super) struct Documents {
    /// The documents that could be read, including those with problems.
    pub(super) read: Vec<Document>,
    pub(super) problems: Vec<Diagnostic>,
    /// The part that could be read of the last document with a syntax error.
    pub(super) partial: Option<Node>,
}

/// Reads every document. Each is parsed by itself, so that an error in one does not hide the others.
pub(super) fn documents(text: Text<'_>) -> Documents {
    let mut documents = Documents::default();
    let mut progress = Progress::default();
    for part in split(text) {
        let source = Arc::new(Source::from(part));
        let (mark, body) = after_mark(part.text);
        let json = is_json(body);
        let events = if json { Events::Json(json::Events::new(mark, body)) } else { Events::yaml(part.text) };
        let mut builder = Builder::new(&source, events, &mut progress);
        for root in builder.roots() {
            let json = json.then(|| body.trim().into());
            documents.read.push(Document { root, source: Arc::clone(&source), json });
        }
        documents.partial = builder.partial.or(documents.partial);
        if progress.exhausted {
            break;
        }
    }
    documents.problems = progress.problems;
    documents
}

/// The first document of a YAML text, with the byte range of every value, and the line of its first anchor or alias.
pub(crate) fn first_document(text: &str) -> Option<(Node, Option<usize>)> {
    let source = Arc::new(Source::from(Text::from(("", text))));
    let mut progress = Progress::default();
    let mut builder = Builder::new(&source, Events::yaml(text), &mut progress);
    let root = builder.roots().into_iter().next()?;
    Some((root, builder.first_anchor)).filter(|_| progress.problems.is_empty())
}

/// The findings and counts of all documents of a source.
#[derive(Default)]
struct Progress {
    problems: Vec<Diagnostic>,
    nodes: usize,
    /// The number of copied values, including those that are kept for aliases.
    copies: usize,
    /// Whether a limit is exceeded, so that no further document is read.
    exhausted: bool,
}

enum Events<'t> {
    Yaml(Box<Parser<'t, StrInput<'t>>>),
    Json(json::Events<'t>),
}

impl<'t> Events<'t> {
    fn yaml(text: &'t str) -> Self {
        let mut options =
            granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
        options.set_emit_comments(false);
        Self::Yaml(Box::new(Parser::new_from_str_with_options(text, options)))
    }
}

/// An event with its location.
struct Located<'t> {
    event: Event<'t>,
    at: Position,
    /// The bytes in the text; empty for JSON.
    range: Range<usize>,
}

struct Builder<'s, 't> {
    source: &'s Arc<Source>,
    events: Events<'t>,
    progress: &'s mut Progress,
    anchors: HashMap<usize, Anchored>,
    first_anchor: Option<usize>,
    /// The number of lists and maps around the current value.
    depth: usize,
    /// Whether a problem ends the document at the current event.
    stopped: bool,
    /// The part that was read before such a problem.
    partial: Option<Node>,
}

/// A value that aliases copy.
#[derive(Clone)]
struct Anchored {
    node: Node,
    /// The number of levels in it.
    height: usize,
    /// The number of values in it.
    size: usize,
}

impl<'s, 't> Builder<'s, 't> {
    fn new(source: &'s Arc<Source>, events: Events<'t>, progress: &'s mut Progress) -> Self {
        let (anchors, first_anchor, depth) = (HashMap::new(), None, 0);
        Self { source, events, progress, anchors, first_anchor, depth, stopped: false, partial: None }
    }

    /// Reads all values up to the end of the text; empty documents are left out.
    fn roots(&mut self) -> Vec<Node> {
        let mut roots = Vec::new();
        let mut open = None;
        while let Some(located) = self.next() {
            match located.event {
                Event::StreamEnd => break,
                Event::DocumentEnd => roots.extend(open.take().filter(|root: &Node| !root.is_null())),
                event if event.is_node() => {
                    self.anchors.clear();
                    open = self.value(Located { event, ..located }).map(|(root, _)| root);
                }
                _ => {}
            }
        }
        if self.stopped {
            self.partial = open;
        } else {
            // JSON has no event for the end of a document.
            roots.extend(open);
        }
        roots
    }

    /// The next event; `None` after the last one, or when the document is stopped.
    fn next(&mut self) -> Option<Located<'t>> {
        if self.progress.problems.len() > MAX_FINDINGS {
            self.progress.exhausted = true;
            self.stopped = true;
        }
        if self.stopped {
            return None;
        }
        match &mut self.events {
            Events::Json(events) => {
                let (event, line, column) = events.next()?;
                Some(Located { event, at: self.position(line, column), range: 0..0 })
            }
            Events::Yaml(parser) => match parser.next_event()? {
                Ok((event, span)) => {
                    let (start, end) = (span.start.byte_offset(), span.end.byte_offset());
                    let range = start.unwrap_or_default()..end.unwrap_or_default();
                    Some(Located { event, at: self.position(span.start.line(), span.start.col()), range })
                }
                Err(error) => {
                    let at = self.position(error.marker().line(), error.marker().col());
                    match error.kind() {
                        ErrorKind::RecursionLimitExceeded => self.stop_too_deep(at),
                        _ => self.stop(&diagnostic::SYNTAX, at, error.info()),
                    }
                    None
                }
            },
        }
    }

    /// The value that starts with this event, and the number of levels in it. If the document is stopped in it, the value
    /// holds the part that could be read.
    // Recursion is bounded by MAX_DEPTH.
    fn value(&mut self, Located { event, at, mut range }: Located<'t>) -> Option<(Node, usize)> {
        let since = self.progress.nodes;
        if event.tag().is_some() {
            let problem = self.source.finding(&diagnostic::TAG, at, "tags are not read here");
            let help = "write the value itself; quote it if it must be text";
            self.progress.problems.push(problem.with_help(help));
        }
        let anchor = event.anchor_id();
        if anchor.or(event.alias_id()).is_some() {
            self.first_anchor.get_or_insert(at.line);
        }
        let (value, flow, height) = match event {
            Event::Alias(anchor) => return self.alias(anchor, at),
            Event::Scalar(text, style, ..) => {
                // A long text counts as several values, because aliases could exhaust memory with copies of it.
                self.progress.nodes += text.len() / 100;
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    range.end = self.without_blank_lines(&range);
                }
                let quoted = style != ScalarStyle::Plain;
                (Value::Scalar(Scalar { text: text.into_owned(), quoted }), false, 0)
            }
            _ if self.depth >= MAX_DEPTH => {
                self.stop_too_deep(at);
                return None;
            }
            Event::SequenceStart(style, ..) => {
                let mut open = self.open(style, range.end);
                let mut items = Vec::new();
                while let Some(item) = self.inner(&mut open) {
                    items.push(item);
                }
                range.end = open.end;
                (Value::List(items), open.flow, open.height)
            }
            Event::MappingStart(style, ..) => {
                let mut open = self.open(style, range.end);
                let entries = self.entries(&mut open);
                range.end = open.end;
                (Value::Map(entries), open.flow, open.height)
            }
            _ => return None,
        };
        self.depth -= usize::from(height > 0);
        self.finish(Node { at, range, flow, value }, anchor, height, since)
    }

    fn open(&mut self, style: StructureStyle, end: usize) -> OpenNode {
        self.depth += 1;
        OpenNode { flow: style == StructureStyle::Flow, height: 1, end }
    }

    /// The next value in an open list or map; `None` at its end.
    fn inner(&mut self, open: &mut OpenNode) -> Option<Node> {
        let located = self.next()?;
        if matches!(located.event, Event::SequenceEnd | Event::MappingEnd) {
            if open.flow {
                open.end = located.range.end;
            }
            return None;
        }
        let (node, height) = self.value(located)?;
        open.height = open.height.max(height + 1);
        if !open.flow {
            open.end = node.range.end;
        }
        Some(node)
    }

    fn entries(&mut self, open: &mut OpenNode) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut seen = HashMap::new();
        while let Some(Node { at, range, value, .. }) = self.inner(open) {
            // A key that was read in part is none to report on.
            if self.stopped {
                break;
            }
            let quoted = matches!(value, Value::Scalar(Scalar { quoted: true, .. }));
            let key = self.key(value, at, &mut seen);
            let Some(value) = self.inner(open) else { break };
            entries.extend(key.map(|key| Entry { key, at, range, quoted, value }));
        }
        entries
    }

    /// The text of a key, unless it cannot be one.
    fn key(&mut self, key: Value, at: Position, seen: &mut HashMap<String, Position>) -> Option<String> {
        let (text, problem) = match key {
            Value::Scalar(Scalar { text, quoted: false }) if text == "<<" => {
                let problem = self.source.finding(&diagnostic::KEY_SHAPE, at, "merge keys are not read");
                (None, problem.with_help("write the fields out"))
            }
            Value::Scalar(Scalar { text, .. }) => match seen.insert(text.clone(), at) {
                Some(first) => {
                    let message = format!("`{text}` appears twice; first at {first}");
                    (Some(text), self.source.finding(&diagnostic::DUPLICATE_KEY, at, message))
                }
                None => return Some(text),
            },
            Value::List(_) | Value::Map(_) => {
                (None, self.source.finding(&diagnostic::KEY_SHAPE, at, "a list or map cannot be a key"))
            }
        };
        self.progress.problems.push(problem);
        text
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Option<(Node, usize)> {
        let Some(Anchored { node, height, size }) = self.anchors.get(&anchor).cloned() else {
            self.stop(&diagnostic::ALIAS, at, "this alias is inside its own anchor");
            return None;
        };
        self.count_copies(size, at);
        if self.depth + height > MAX_DEPTH {
            self.stop_too_deep(at);
        }
        let since = self.progress.nodes;
        // `finish` counts the node itself.
        self.progress.nodes += size - 1;
        self.finish(Node { at, ..node }, None, height, since)
    }

    /// Counts a complete value, and keeps it if aliases may copy it. `since` is the count before it.
    fn finish(
        &mut self,
        node: Node,
        anchor: Option<usize>,
        height: usize,
        since: usize,
    ) -> Option<(Node, usize)> {
        if self.stopped {
            return Some((node, height));
        }
        self.progress.nodes += 1;
        let size = self.progress.nodes - since;
        if self.progress.nodes > MAX_NODES {
            self.progress.exhausted = true;
            let message = format!("more than {MAX_NODES} values in one source");
            self.stop(&diagnostic::TOO_LARGE, node.at, message);
        }
        if let Some(anchor) = anchor.filter(|_| !self.stopped) {
            // The copy that is kept for aliases counts too, because anchors may be nested.
            self.count_copies(size, node.at);
            self.anchors.insert(anchor, Anchored { node: node.clone(), height, size });
        }
        Some((node, height))
    }

    fn count_copies(&mut self, count: usize, at: Position) {
        self.progress.copies += count;
        if self.progress.copies > MAX_COPIES {
            self.progress.exhausted = true;
            let message = format!("anchors and aliases make more than {MAX_COPIES} copies of values");
            self.stop(&diagnostic::ALIAS, at, message);
        }
    }

    /// Reports a problem after which the rest of the document cannot be read. Only the first is reported.
    fn stop(&mut self, code: &'static Code, at: Position, message: impl Into<String>) {
        if !std::mem::replace(&mut self.stopped, true) {
            self.progress.problems.push(self.source.finding(code, at, message));
        }
    }

    fn stop_too_deep(&mut self, at: Position) {
        self.stop(&diagnostic::TOO_DEEP, at, format!("nested deeper than {MAX_DEPTH} levels"));
    }

    /// The end of a block scalar: the parser's range includes the blank lines after it.
    fn without_blank_lines(&self, range: &Range<usize>) -> usize {
        let written = self.source.text.get(range.clone()).unwrap_or_default();
        range.start + written.trim_end().len()
    }

    fn position(&self, line: usize, column: usize) -> Position {
        Position { line: self.source.lines_before + line, column: column + 1 }
    }
}

/// A list or map that is being read.
struct OpenNode {
    flow: bool,
    /// The number of levels read so far.
    height: usize,
    /// The end of the last value, or of the closing bracket.
    end: usize,
}
