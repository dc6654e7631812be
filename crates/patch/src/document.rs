//! The lazy document: text where nobody changed anything, a tree where somebody did.

use std::ops::{Deref, Range};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::grammar::{check, trimmed};
use crate::index::{Index, Outline, Span};
use crate::pointer::{index, tokens};
use crate::text::Text;
use crate::{DocumentError, Kind, Pointer, View};

mod apply;
mod members;
mod parts;

pub(crate) use members::Member;
use members::Members;

pub use apply::{ApplyError, ApplyErrorKind};

/// A JSON document that is opened only along the paths somebody changes; all else stays the bytes received.
///
/// Of a doubled member the last one counts, as in Go. There is no `Debug`: a document may be somebody's secret.
///
/// ```
/// use vestibule_patch::{Document, Operation};
///
/// let mut document = Document::parse(r#"{"spec": {"size": 1.0, "owner": null}}"#)?;
/// document.apply(&Operation::Remove { path: "/spec/owner".parse()? })?;
/// assert_eq!(document.to_json(), r#"{"spec":{"size":1.0}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Document<'a> {
    /// As it was received.
    text: &'a str,
    root: Node<'a>,
    index: Index,
    /// Bytes that `copy` operations have added.
    copied: usize,
}

/// A value in a document. A clone shares what was opened, until one of both changes it.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    Raw(Raw<'a>),
    Array(Arc<Vec<Node<'a>>>),
    Object(Arc<Members<'a>>),
}

/// JSON text in a document.
#[derive(Clone)]
pub(crate) enum Written<'a> {
    Received(&'a str),
    /// By an operation: its value as it is.
    Brought(Arc<RawValue>),
    /// A part of what operations have brought.
    Copied(Arc<str>),
}

impl Deref for Written<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Received(text) => text,
            Self::Brought(value) => value.get(),
            Self::Copied(text) => text,
        }
    }
}

/// A value that nobody opened.
#[derive(Clone)]
pub(crate) struct Raw<'a> {
    pub(crate) text: Written<'a>,
    /// Which containers of the document's text it is made of; none where the value came later.
    spans: Range<u32>,
}

impl<'a> Document<'a> {
    /// Checks the grammar of the whole text, and opens nothing. How long a text may be is for the caller to say.
    ///
    /// # Errors
    /// What is not JSON, or nests deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    pub fn parse(text: &'a str) -> Result<Self, DocumentError> {
        check(text).map(|(text, index)| Self::of(text, index))
    }

    /// Stands on a text again that was read before, without reading it; `None` if `outline` is of another one.
    ///
    /// ```
    /// use vestibule_patch::Document;
    ///
    /// let text = r#"{"size": 1}"#;
    /// let outline = Document::parse(text)?.outline();
    /// assert!(Document::resume(text, &outline).is_some_and(|again| again.to_json() == text));
    /// assert!(Document::resume(r#"{"size": 2}"#, &outline).is_none());
    /// # Ok::<(), vestibule_patch::DocumentError>(())
    /// ```
    pub fn resume(text: &'a str, outline: &Outline) -> Option<Self> {
        let text = trimmed(text);
        outline.of(text).map(|index| Self::of(text, index))
    }

    fn of(text: &'a str, index: Index) -> Self {
        let spans = 0..index.spans().len() as u32;
        Self { text, root: Node::Raw(Raw { text: Written::Received(text), spans }), index, copied: 0 }
    }

    /// What reading the text found out, to [`resume`](Self::resume) from later on.
    pub fn outline(&self) -> Outline {
        Outline::new(self.text, self.index.clone())
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Whether this is `text` itself, not a copy of it, and nobody has changed or opened anything in it.
    pub fn is_of(&self, text: &str) -> bool {
        self.is_untouched() && std::ptr::eq(self.text, trimmed(text))
    }

    /// Whether nobody has changed it, nor opened it.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(&self.root, Node::Raw(Raw { text: Written::Received(text), .. }) if std::ptr::eq(*text, self.text))
    }

    /// The whole document, to look at.
    pub fn view(&self) -> View<'_> {
        View::at(&self.root, self.index.spans())
    }

    /// The value at `pointer`.
    pub fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.view().pointer(pointer)
    }

    /// Takes apart what stands on the way to `pointer`, and what stands there. That changes nothing but the time it takes to
    /// look at it: whoever looks often into a large document reads its text once.
    pub fn open(&mut self, pointer: &Pointer) {
        let spans = self.index.spans();
        if let Some(node) = self.root.find(pointer.as_str(), spans) {
            node.open(spans);
            if let Node::Object(members) = node {
                Arc::make_mut(members).prepare();
            }
        }
    }

    /// The same with each item of the list at `pointer`.
    pub fn open_items(&mut self, pointer: &Pointer) {
        let spans = self.index.spans();
        let Some(node) = self.root.find(pointer.as_str(), spans) else { return };
        node.open(spans);
        if let Node::Array(items) = node {
            Arc::make_mut(items).iter_mut().for_each(|item| item.open(spans));
        }
    }

    /// The document as JSON text; what was not touched, byte by byte as received.
    pub fn to_json(&self) -> String {
        self.view().to_json().into_owned()
    }
}

impl<'a> Node<'a> {
    /// A value that an operation brings.
    fn brought(value: &Arc<RawValue>) -> Self {
        Node::Raw(Raw { text: Written::Brought(Arc::clone(value)), spans: 0..0 })
    }

    /// A value that comes from elsewhere in the document.
    fn copied(text: &str) -> Self {
        Node::Raw(Raw { text: Written::Copied(Arc::from(text)), spans: 0..0 })
    }

    /// Takes a container one level apart.
    fn open(&mut self, spans: &[Span]) {
        if let Node::Raw(raw) = self
            && let Some(opened) = raw.split(spans)
        {
            *self = opened;
        }
    }

    /// The node at `path`; those above it are opened.
    fn find(&mut self, path: &str, spans: &[Span]) -> Option<&mut Node<'a>> {
        tokens(path).try_fold(self, |node, token| {
            node.open(spans);
            match node {
                Node::Array(items) => Arc::make_mut(items).get_mut(index(&token)?),
                Node::Object(members) => Arc::make_mut(members).get_mut(&token),
                Node::Raw(_) => None,
            }
        })
    }
}

impl<'a> Raw<'a> {
    /// Its text, with what `spans`, those of the whole document, say about it.
    pub(crate) fn text<'t>(&'t self, spans: &'t [Span]) -> Text<'t, 't> {
        let spans = spans.get(self.spans.start as usize..self.spans.end as usize);
        Text { written: &self.text, spans: spans.unwrap_or_default() }
    }

    /// A container, taken one level apart.
    fn split(&self, spans: &[Span]) -> Option<Node<'a>> {
        let known = self.text(spans).spans;
        match &self.text {
            Written::Received(text) => self.parts(Text { written: text, spans: known }, Written::Received),
            Written::Brought(_) | Written::Copied(_) => {
                let copied = |part: &str| Written::Copied(Arc::from(part));
                self.parts(Text { written: &self.text, spans: known }, copied)
            }
        }
    }

    fn parts<'t>(&self, text: Text<'t, '_>, own: impl Fn(&'t str) -> Written<'a>) -> Option<Node<'a>> {
        let mut next = self.spans.start + 1;
        let mut raw = |part: Text<'t, '_>| {
            let start = next;
            next += part.spans.len() as u32;
            Node::Raw(Raw { text: own(part.written), spans: start..next })
        };
        match text.kind() {
            Kind::Array => {
                let mut items = Vec::with_capacity(text.likely());
                items.extend(text.values().map(raw));
                Some(Node::Array(Arc::new(items)))
            }
            Kind::Object => {
                let member = |(name, letter, value)| Member::new(own(name), letter, raw(value));
                Some(Node::Object(Arc::new(Members::new(text.members().map(member)))))
            }
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
        }
    }
}
