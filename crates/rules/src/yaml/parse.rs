//! Builds trees from parser events, with an explicit stack instead of recursion.

mod json;

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span, StrInput};
pub(super) use json::{after_mark, is_json};

use super::split::split;
use super::{Entry, MAX_COPIES, MAX_DEPTH, MAX_NODES, Node, Position, Scalar, Value};
use crate::diagnostic::{self, Diagnostic, MAX_FINDINGS, Source};

/// The result of parsing a source.
pub(super) struct Documents {
    /// The documents that could be read, including those with problems.
    pub(super) roots: Vec<ReadDocument>,
    pub(super) problems: Vec<Diagnostic>,
    /// The part that could be read of the last document with a syntax error.
    pub(super) partial: Option<Node>,
}

/// A document that could be read.
pub(super) struct ReadDocument {
    pub(super) node: Node,
    /// Its text, if it is JSON.
    pub(super) json: Option<Box<str>>,
}

/// Reads every document. Each is parsed by itself, so that an error in one does not hide the others.
pub(super) fn documents(source: &Arc<Source>) -> Documents {
    let mut builder = Builder::new(source);
    let mut roots = Vec::new();
    let mut partial = None;
    for part in split(&source.text) {
        builder.before = source.lines_before + part.line;
        let (mark, body) = after_mark(part.text);
        if is_json(body) {
            match json::read(mark, body, &mut builder) {
                Ok(node) => {
                    roots.extend(node.map(|node| ReadDocument { node, json: Some(body.trim().into()) }));
                }
                Err(problem) => {
                    builder.problems.push(problem);
                    partial = builder.close_open_nodes();
                }
            }
            builder.reset();
            if builder.exhausted || builder.problems.len() > MAX_FINDINGS {
                break;
            }
            continue;
        }
        let mut parser = parser(part.text);
        loop {
            if builder.problems.len() > MAX_FINDINGS {
                builder.exhausted = true;
                break;
            }
            match next(&mut parser, &mut builder) {
                Ok(Step::More) => {}
                Ok(Step::Document(node)) => roots.extend(node.map(|node| ReadDocument { node, json: None })),
                Ok(Step::End) => break,
                Err(problem) => {
                    builder.problems.push(problem);
                    partial = builder.close_open_nodes();
                    builder.reset();
                    break;
                }
            }
        }
        if builder.exhausted {
            break;
        }
    }
    Documents { roots, problems: builder.problems, partial }
}

pub(super) fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let mut options =
        granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    options.set_emit_comments(false);
    Parser::new_from_str_with_options(text, options)
}

enum Step {
    More,
    /// A document is complete; `None` where it is empty.
    Document(Option<Node>),
    End,
}

fn next<'t>(parser: &mut Parser<'t, StrInput<'t>>, builder: &mut Builder<'_>) -> Result<Step, Diagnostic> {
    let Some(event) = parser.next_event() else { return Ok(Step::End) };
    let (event, span) = event.map_err(|error| {
        let at = builder.position(error.marker().line(), error.marker().col());
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => builder.too_deep(at),
            _ => builder.source.error(&diagnostic::SYNTAX, at, error.info()),
        }
    })?;
    builder.handle(event, &span)
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    problems: Vec<Diagnostic>,
    /// The number of lines of the source before the current document.
    before: usize,
    open: Vec<OpenNode>,
    root: Option<Node>,
    anchors: HashMap<usize, (Node, usize, usize)>,
    nodes: usize,
    /// The number of copied values, including those that are kept for aliases.
    copies: usize,
    exhausted: bool,
}

/// A list or map whose end event has not been read yet.
struct OpenNode {
    at: Position,
    anchor: usize,
    /// The value of `Builder::nodes` at its start.
    since: usize,
    /// The number of levels below it that have been read.
    height: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashMap<String, Position>, key: Option<Key> },
}

/// A key whose value has not been read yet.
struct Key {
    /// `None` for a list or map, which cannot be a key.
    text: Option<String>,
    at: Position,
}

impl Content {
    fn add(&mut self, node: Node) {
        match self {
            Self::List(items) => items.push(node),
            Self::Map { entries, key, .. } => {
                if let Some(Key { text: Some(key), at }) = key.take() {
                    entries.push(Entry { key, at, value: node });
                }
            }
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::List(items) => Value::List(items),
            Self::Map { entries, .. } => Value::Map(entries),
        }
    }
}

impl<'s> Builder<'s> {
    fn new(source: &'s Arc<Source>) -> Self {
        Self {
            source,
            problems: Vec::new(),
            before: 0,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            nodes: 0,
            copies: 0,
            exhausted: false,
        }
    }

    fn reset(&mut self) {
        self.open.clear();
        self.root = None;
        self.anchors.clear();
    }

    /// Closes all open lists and maps and returns the root.
    fn close_open_nodes(&mut self) -> Option<Node> {
        while let Some(OpenNode { at, content, .. }) = self.open.pop() {
            let node = Node { at, value: content.into_value() };
            match self.open.last_mut() {
                Some(parent) => parent.content.add(node),
                None => self.root = Some(node),
            }
        }
        self.root.take()
    }

    fn position(&self, line: usize, column: usize) -> Position {
        Position { line: self.before + line, column: column + 1 }
    }

    fn handle(&mut self, event: Event<'_>, span: &Span) -> Result<Step, Diagnostic> {
        let at = self.position(span.start.line(), span.start.col());
        match event {
            Event::StreamEnd => return Ok(Step::End),
            Event::DocumentEnd => {
                let root = self.root.take().filter(|root| !root.is_null());
                self.reset();
                return Ok(Step::Document(root));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                let quoted = !matches!(style, ScalarStyle::Plain);
                self.scalar(text.into_owned(), quoted, at, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                self.begin(at, anchor, Content::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                let content = Content::Map { entries: Vec::new(), seen: HashMap::new(), key: None };
                self.begin(at, anchor, content)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => self.alias(anchor, at)?,
            _ => {}
        }
        Ok(Step::More)
    }

    fn scalar(&mut self, text: String, quoted: bool, at: Position, anchor: usize) -> Result<(), Diagnostic> {
        let merge_key = !quoted && text == "<<";
        // A long text counts as several values, because aliases could exhaust memory with copies of it.
        let size = 1 + text.len() / 100;
        self.nodes += size - 1;
        let value = Value::Scalar(Scalar { text, quoted });
        self.finish(Node { at, value }, anchor, 0, size, merge_key)
    }

    fn refuse_tag(&mut self, tagged: bool, at: Position) {
        if tagged {
            let problem = self.source.error(&diagnostic::TAG, at, "tags are not read here");
            self.problems.push(problem.with_help("write the value itself; quote it if it must be text"));
        }
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Diagnostic> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        self.open.push(OpenNode { at, anchor, since: self.nodes, height: 0, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Diagnostic> {
        let Some(OpenNode { at, anchor, since, height, content }) = self.open.pop() else { return Ok(()) };
        let size = self.nodes - since + 1;
        self.finish(Node { at, value: content.into_value() }, anchor, height + 1, size, false)
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), Diagnostic> {
        let Some((node, height, size)) = self.anchors.get(&anchor).cloned() else {
            return Err(self.source.error(&diagnostic::ALIAS, at, "this alias is inside its own anchor"));
        };
        self.count_copies(size, at)?;
        if self.open.len() + height > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        let node = Node { at, value: node.value };
        // `finish` counts the node itself.
        self.nodes += size - 1;
        self.finish(node, 0, height, size, false)
    }

    /// Adds a complete node to its parent as key, value or item, or makes it the root.
    fn finish(
        &mut self,
        node: Node,
        anchor: usize,
        height: usize,
        size: usize,
        merge_key: bool,
    ) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            self.exhausted = true;
            let message = format!("more than {MAX_NODES} values in one source");
            return Err(self.source.error(&diagnostic::TOO_LARGE, node.at, message));
        }
        if anchor != 0 {
            // The copy that is kept for aliases counts too, because anchors may be nested.
            self.count_copies(size, node.at)?;
            self.anchors.insert(anchor, (node.clone(), height, size));
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        parent.height = parent.height.max(height);
        match &mut parent.content {
            Content::Map { seen, key: key @ None, .. } => {
                let Node { at, value } = node;
                let (text, problem) = match value {
                    Value::Scalar(Scalar { text, .. }) => {
                        let problem = match seen.insert(text.clone(), at) {
                            _ if merge_key => Some(
                                self.source
                                    .error(&diagnostic::KEY_SHAPE, at, "merge keys are not read")
                                    .with_help("write the fields out"),
                            ),
                            Some(first) => {
                                let message = format!("`{text}` appears twice; first at {first}");
                                Some(self.source.error(&diagnostic::DUPLICATE_KEY, at, message))
                            }
                            None => None,
                        };
                        (Some(text).filter(|_| !merge_key), problem)
                    }
                    Value::List(_) | Value::Map(_) => {
                        let message = "a list or map cannot be a key";
                        (None, Some(self.source.error(&diagnostic::KEY_SHAPE, at, message)))
                    }
                };
                self.problems.extend(problem);
                *key = Some(Key { text, at });
            }
            content => content.add(node),
        }
        Ok(())
    }

    fn count_copies(&mut self, count: usize, at: Position) -> Result<(), Diagnostic> {
        self.copies += count;
        if self.copies <= MAX_COPIES {
            return Ok(());
        }
        self.exhausted = true;
        let message = format!("anchors and aliases make more than {MAX_COPIES} copies of values");
        Err(self.source.error(&diagnostic::ALIAS, at, message))
    }

    fn too_deep(&self, at: Position) -> Diagnostic {
        self.source.error(&diagnostic::TOO_DEEP, at, format!("nested deeper than {MAX_DEPTH} levels"))
    }
}
