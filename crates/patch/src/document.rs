//! A lazily parsed document: unchanged values stay text, and changed containers become a tree.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use ecow::{EcoString, EcoVec};
use serde_json::value::RawValue;

use crate::grammar::{check, trimmed};
use crate::index::{Index, Outline, Span};
use crate::pointer::{index, tokens};
use crate::text::{Text, meaning};
use crate::{DocumentError, Kind, Pointer};

mod apply;
mod members;
mod parts;

pub(crate) use members::Member;
use members::Members;

pub use apply::{ApplyError, ApplyErrorKind};

/// A JSON document that is parsed only along the paths that are changed; all other values stay the bytes received.
///
/// If a member occurs more than once, the last one counts, as in Go. There is no `Debug`, since a document may hold secrets.
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
    /// The text as it was received.
    text: &'a str,
    root: Node<'a>,
    index: Index,
    /// The bytes that `copy` operations have added.
    copied: usize,
}

/// A value in a document. A clone shares the opened containers until one of the two changes them.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    Raw(Raw<'a>),
    Array(EcoVec<Node<'a>>),
    Object(Members<'a>),
}

/// JSON text in a document.
#[derive(Clone)]
pub(crate) enum Written<'a> {
    Received(&'a str),
    /// The value of an operation, unchanged.
    FromOperation(Arc<RawValue>),
    /// A part of the value of an operation.
    Copied(EcoString),
}

impl Deref for Written<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Received(text) => text,
            Self::FromOperation(value) => value.get(),
            Self::Copied(text) => text,
        }
    }
}

/// A value that was not opened.
#[derive(Clone)]
pub(crate) struct Raw<'a> {
    pub(crate) text: Written<'a>,
    /// The range of the containers of the document's text that are in it; empty for a value that was added later.
    spans: Range<u32>,
}

impl<'a> Document<'a> {
    /// Checks the grammar of the whole text, and opens nothing. The caller limits the length of the text.
    ///
    /// # Errors
    /// The text is not JSON, or nests deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    pub fn parse(text: &'a str) -> Result<Self, DocumentError> {
        check(text).map(|(text, index)| Self::of(text, index))
    }

    /// A document of a text that was parsed before, without reading it again; [`None`] if `outline` is of another text.
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
        outline.of(text).map(|index| Self::of(text, index.clone()))
    }

    fn of(text: &'a str, index: Index) -> Self {
        let root = Node::Raw(Raw { text: Written::Received(text), spans: index.part() });
        Self { text, root, index, copied: 0 }
    }

    /// The result of reading the text, with which [`resume`](Self::resume) makes the document again.
    pub fn outline(&self) -> Outline {
        Outline::new(self.text, self.index.clone())
    }

    /// The outline for `copy`, with which [`View::resume`](crate::View::resume) reads it; [`None`] if it is no copy of the text.
    ///
    /// ```
    /// use vestibule_patch::{Document, View};
    ///
    /// let text = r#"{"size": 1}"#;
    /// let copy = text.to_owned();
    /// let outline = Document::parse(text)?.outline_of(&copy).unwrap();
    /// assert!(View::resume(&copy, &outline).is_some_and(|view| view.get("size").is_some()));
    /// assert!(View::resume(text, &outline).is_none());
    /// # Ok::<(), vestibule_patch::DocumentError>(())
    /// ```
    pub fn outline_of(&self, copy: &str) -> Option<Outline> {
        (copy == self.text).then(|| Outline::new(copy, self.index.clone()))
    }

    /// The members of the received object by their unescaped names, each as a document of its own that is not read again; none for
    /// other values. Duplicates are included.
    ///
    /// ```
    /// use vestibule_patch::Document;
    ///
    /// let review = Document::parse(r#"{"request": {"uid": "a"}}"#)?;
    /// let (name, request) = review.members().next().unwrap();
    /// assert_eq!((&*name, request.text()), ("request", r#"{"uid": "a"}"#));
    /// # Ok::<(), vestibule_patch::DocumentError>(())
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (Cow<'a, str>, Self)> + use<'a, '_> {
        let mut start = self.index.part().start;
        let text = Text { written: self.text, spans: self.index.spans_of_part() };
        let members = (text.kind() == Kind::Object).then(|| text.members());
        members.into_iter().flatten().map(move |(name, letter, value)| {
            let part = start + 1..start + 1 + value.spans.len() as u32;
            start = part.end - 1;
            (meaning(name, letter), Self::of(value.written, self.index.of_part(part)))
        })
    }

    /// The text as it was received.
    pub fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Whether this is `text` itself, not a copy of it, and nothing in it was changed or opened.
    pub fn is_of(&self, text: &str) -> bool {
        self.is_untouched() && std::ptr::eq(self.text, trimmed(text))
    }

    /// Whether nothing was changed or opened.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(&self.root, Node::Raw(Raw { text: Written::Received(text), .. }) if std::ptr::eq(*text, self.text))
    }

    pub(crate) fn root(&self) -> &Node<'a> {
        &self.root
    }

    /// The containers of the text.
    pub(crate) fn spans(&self) -> &[Span] {
        self.index.spans()
    }

    /// Opens the containers on the way to `pointer`, and the one at it. This changes no value; it makes repeated lookups in a
    /// large document faster, since its text is read once.
    pub fn open(&mut self, pointer: &Pointer) {
        let spans = self.index.spans();
        if let Some(node) = self.root.find(pointer.as_str(), spans) {
            node.open(spans);
            if let Node::Object(members) = node {
                members.prepare();
            }
        }
    }

    /// As [`open`](Self::open), and opens each item of the list at `pointer`.
    pub fn open_items(&mut self, pointer: &Pointer) {
        let spans = self.index.spans();
        let Some(node) = self.root.find(pointer.as_str(), spans) else { return };
        node.open(spans);
        if let Node::Array(items) = node {
            items.make_mut().iter_mut().for_each(|item| item.open(spans));
        }
    }

    /// The document as JSON text; unchanged values are the bytes received.
    pub fn to_json(&self) -> String {
        self.view().to_json().into_owned()
    }
}

impl<'a> Node<'a> {
    /// A node of the value of an operation.
    fn from_operation(value: &Arc<RawValue>) -> Self {
        Node::Raw(Raw { text: Written::FromOperation(Arc::clone(value)), spans: 0..0 })
    }

    /// A node of a value that is copied from elsewhere in the document.
    fn copied(text: &str) -> Self {
        Node::Raw(Raw { text: Written::Copied(text.into()), spans: 0..0 })
    }

    /// Opens one level of a container.
    fn open(&mut self, spans: &[Span]) {
        if let Node::Raw(raw) = self
            && let Some(opened) = raw.split(spans)
        {
            *self = opened;
        }
    }

    /// The node at `path`; the containers above it are opened.
    fn find(&mut self, path: &str, spans: &[Span]) -> Option<&mut Node<'a>> {
        tokens(path).try_fold(self, |node, token| {
            node.open(spans);
            match node {
                Node::Array(items) => items.make_mut().get_mut(index(&token)?),
                Node::Object(members) => members.get_mut(&token),
                Node::Raw(_) => None,
            }
        })
    }
}

impl<'a> Raw<'a> {
    /// Its text with its containers, which are found in `spans`, the containers of the whole document.
    pub(crate) fn text<'t>(&'t self, spans: &'t [Span]) -> Text<'t, 't> {
        let spans = spans.get(self.spans.start as usize..self.spans.end as usize);
        Text { written: &self.text, spans: spans.unwrap_or_default() }
    }

    /// A container with one level opened.
    fn split(&self, spans: &[Span]) -> Option<Node<'a>> {
        let known = self.text(spans).spans;
        match &self.text {
            Written::Received(text) => self.parts(Text { written: text, spans: known }, Written::Received),
            Written::FromOperation(_) | Written::Copied(_) => {
                let copied = |part: &str| Written::Copied(part.into());
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
                let mut items = EcoVec::with_capacity(text.likely());
                text.values().for_each(|value| items.push(raw(value)));
                Some(Node::Array(items))
            }
            Kind::Object => {
                let member = |(name, letter, value)| Member::new(own(name), letter, raw(value));
                Some(Node::Object(Members::new(text.members().map(member))))
            }
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
        }
    }
}
