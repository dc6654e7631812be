//! A document as a tree with the byte range of every value.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle};

use super::super::parse::parser;
use super::RewriteReason;

/// A value and its byte range, without the comments and blank lines after it.
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) content: Content,
}

pub(super) enum Content {
    Scalar,
    List { flow: bool, items: Vec<Node> },
    Map { flow: bool, entries: Vec<Entry> },
}

pub(super) struct Entry {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

/// The first document of `text`.
pub(super) fn read(text: &str) -> Result<Node, RewriteReason> {
    let mut events = Events { parser: parser(text), text };
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return Err(RewriteReason::unusual(None)),
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (event, span) => return events.node(&event, &span),
        }
    }
}

impl Node {
    /// `{}` or `[]`.
    pub(super) fn is_empty_flow(&self) -> bool {
        match &self.content {
            Content::List { flow, items } => *flow && items.is_empty(),
            Content::Map { flow, entries } => *flow && entries.is_empty(),
            Content::Scalar => false,
        }
    }

    pub(super) fn is_flow(&self) -> bool {
        matches!(self.content, Content::List { flow: true, .. } | Content::Map { flow: true, .. })
    }
}

struct Events<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t str,
}

// Recursion is bounded by the parser's own limits.
impl<'t> Events<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), RewriteReason> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(_)) | None => Err(RewriteReason::unusual(None)),
        }
    }

    fn node(&mut self, event: &Event<'t>, span: &Span) -> Result<Node, RewriteReason> {
        let line = span.start.line();
        let span = match (span.start.byte_offset(), span.end.byte_offset()) {
            (Some(start), Some(end)) => start..end,
            _ => return Err(RewriteReason::unusual(Some(line))),
        };
        match event {
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(_, anchor, _)
            | Event::MappingStart(_, anchor, _)
                if *anchor != 0 =>
            {
                Err(RewriteReason::anchor(line))
            }
            Event::Alias(_) => Err(RewriteReason::anchor(line)),
            Event::Scalar(_, style, ..) => Ok(self.scalar(*style, span)),
            Event::SequenceStart(style, ..) => self.list(matches!(style, StructureStyle::Flow), span),
            Event::MappingStart(style, ..) => self.map(matches!(style, StructureStyle::Flow), span),
            _ => Err(RewriteReason::unusual(Some(line))),
        }
    }

    fn scalar(&self, style: ScalarStyle, span: Range<usize>) -> Node {
        let span = match style {
            // The parser's span of a block scalar includes the blank lines after it.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let written = self.text.get(span.clone()).unwrap_or_default();
                span.start..span.start + written.trim_end().len()
            }
            _ => span,
        };
        Node { span, content: Content::Scalar }
    }

    fn list(&mut self, flow: bool, span: Range<usize>) -> Result<Node, RewriteReason> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                let end = end(flow, &at, items.last().map(|item| item.span.end), &span);
                return Ok(Node { span: span.start..end, content: Content::List { flow, items } });
            }
            items.push(self.node(&event, &at)?);
        }
    }

    fn map(&mut self, flow: bool, span: Range<usize>) -> Result<Node, RewriteReason> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                let end = end(flow, &at, entries.last().map(|entry| entry.value.span.end), &span);
                return Ok(Node { span: span.start..end, content: Content::Map { flow, entries } });
            }
            let key = match &event {
                Event::Scalar(text, ..) => text.clone().into_owned(),
                _ => return Err(RewriteReason::unusual(Some(at.start.line()))),
            };
            let span = self.node(&event, &at)?.span;
            let (event, at) = self.next()?;
            entries.push(Entry { key, span, value: self.node(&event, &at)? });
        }
    }
}

/// A flow collection ends with its bracket, a block with its last child.
fn end(flow: bool, at: &Span, last: Option<usize>, span: &Range<usize>) -> usize {
    let bracket = at.end.byte_offset().filter(|_| flow);
    bracket.or(last).unwrap_or(span.end)
}
