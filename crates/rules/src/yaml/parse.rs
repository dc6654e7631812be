//! Events into trees. No recursion: what is open stands on a stack of our own.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::{Entry, MAX_DEPTH, MAX_NODES, Node, Position, Scalar, Value};
use crate::diagnostic::{self, Diagnostic, Source};

/// The roots of the documents that could be read, and what is wrong with the others.
pub(super) fn documents(source: &Arc<Source>) -> (Vec<Node>, Vec<Diagnostic>) {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let mut options =
        granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut roots = Vec::new();
    let mut builder = Builder::new(source);
    loop {
        match next(&mut parser, &mut builder) {
            Ok(Step::More) => {}
            Ok(Step::Document(root)) => roots.extend(root),
            Ok(Step::End) => return (roots, builder.problems),
            Err(problem) => {
                builder.problems.push(problem);
                builder.abandon();
                // What follows a broken document may be fine, or broken too: all is told at once.
                if builder.exhausted || !matches!(parser.proceed_next_document(), Ok(true)) {
                    return (roots, builder.problems);
                }
            }
        }
    }
}

enum Step {
    More,
    /// A document is complete; `None` where it is empty or had a problem.
    Document(Option<Node>),
    End,
}

fn next<'t>(parser: &mut Parser<'t, StrInput<'t>>, builder: &mut Builder<'_>) -> Result<Step, Diagnostic> {
    let Some(event) = parser.next_event() else { return Ok(Step::End) };
    let (event, span) = event.map_err(|error| {
        let at = Position { line: error.marker().line(), column: error.marker().col() + 1 };
        builder.source.error(&diagnostic::SYNTAX, at, error.info())
    })?;
    builder.take(event, &span)
}

struct Builder<'s> {
    source: &'s Arc<Source>,
    problems: Vec<Diagnostic>,
    /// How many problems there were when the document began.
    clean: usize,
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, (Node, usize, usize)>,
    nodes: usize,
    exhausted: bool,
}

/// A list or map whose end has not come yet.
struct Open {
    at: Position,
    anchor: usize,
    /// `nodes` of the builder when it began.
    since: usize,
    /// The levels below, as far as they are known.
    height: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashMap<String, Position>, key: Option<(String, Position)> },
}

impl<'s> Builder<'s> {
    fn new(source: &'s Arc<Source>) -> Self {
        Self {
            source,
            problems: Vec::new(),
            clean: 0,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            nodes: 0,
            exhausted: false,
        }
    }

    fn abandon(&mut self) {
        self.open.clear();
        self.root = None;
        self.anchors.clear();
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<Step, Diagnostic> {
        let at = Position { line: span.start.line(), column: span.start.col() + 1 };
        match event {
            Event::StreamEnd => return Ok(Step::End),
            Event::DocumentStart(..) => self.clean = self.problems.len(),
            Event::DocumentEnd => {
                let broken = self.problems.len() > self.clean;
                let root = self.root.take().filter(|root| !broken && !root.is_null());
                self.abandon();
                return Ok(Step::Document(root));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                let quoted = !matches!(style, ScalarStyle::Plain);
                let merge_key = !quoted && text == "<<";
                // A long text counts for several values: copies of it are what aliases could exhaust memory with.
                let size = 1 + text.len() / 100;
                self.nodes += size - 1;
                let value = Value::Scalar(Scalar { text: text.into_owned(), quoted });
                self.finish(Node { at, value }, anchor, 0, size, merge_key)?;
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

    fn refuse_tag(&mut self, tagged: bool, at: Position) {
        if tagged {
            let problem = self.source.error(&diagnostic::TAG, at, "tags are not read here");
            self.problems.push(problem.with_help("write the value itself; quote it if it must be text"));
        }
    }

    fn begin(&mut self, at: Position, anchor: usize, content: Content) -> Result<(), Diagnostic> {
        if let Some(Open { content: Content::Map { key: None, .. }, .. }) = self.open.last() {
            return Err(self.source.error(&diagnostic::KEY_SHAPE, at, "a list or map cannot be a key"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        self.open.push(Open { at, anchor, since: self.nodes, height: 0, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Diagnostic> {
        let Some(Open { at, anchor, since, height, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => Value::Map(entries),
        };
        let size = self.nodes - since + 1;
        self.finish(Node { at, value }, anchor, height + 1, size, false)
    }

    fn alias(&mut self, anchor: usize, at: Position) -> Result<(), Diagnostic> {
        let Some((node, height, size)) = self.anchors.get(&anchor) else {
            return Err(self.source.error(&diagnostic::ALIAS, at, "this alias stands inside its own anchor"));
        };
        let (height, size) = (*height, *size);
        if self.nodes + size > MAX_NODES {
            self.exhausted = true;
            let message = format!("aliases expand to more than {MAX_NODES} values");
            return Err(self.source.error(&diagnostic::ALIAS, at, message));
        }
        if self.open.len() + height > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        let node = Node { at, value: node.value.clone() };
        // The node itself is counted where it is placed.
        self.nodes += size - 1;
        self.finish(node, 0, height, size, false)
    }

    /// Places a complete node: as a key, a member, an item, or the document itself.
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
            // The copy that is kept for aliases counts as well: anchors may stand around each other.
            self.nodes += size;
            self.anchors.insert(anchor, (node.clone(), height, size));
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        parent.height = parent.height.max(height);
        match &mut parent.content {
            Content::List(items) => items.push(node),
            Content::Map { entries, seen, key } => match key.take() {
                Some((key, at)) => entries.push(Entry { key, at, value: node }),
                None => {
                    let Value::Scalar(Scalar { text, .. }) = node.value else {
                        let message = "a list or map cannot be a key";
                        return Err(self.source.error(&diagnostic::KEY_SHAPE, node.at, message));
                    };
                    if merge_key {
                        let problem =
                            self.source.error(&diagnostic::KEY_SHAPE, node.at, "merge keys are not read");
                        self.problems.push(problem.with_help("write the fields out"));
                    }
                    if let Some(first) = seen.insert(text.clone(), node.at) {
                        let message = format!("`{text}` stands twice; first at {first}");
                        self.problems.push(self.source.error(&diagnostic::DOUBLED_KEY, node.at, message));
                    }
                    *key = Some((text, node.at));
                }
            },
        }
        Ok(())
    }

    fn too_deep(&self, at: Position) -> Diagnostic {
        self.source.error(&diagnostic::TOO_DEEP, at, format!("nested deeper than {MAX_DEPTH} levels"))
    }
}
