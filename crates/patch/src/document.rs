//! The lazy document: text where nobody changed anything, a tree where somebody did.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::grammar::check;
use crate::index::{Index, Span};
use crate::pointer::index;
use crate::text::Text;
use crate::{DocumentError, Kind, Pointer, View, text};

mod apply;
mod members;

use members::{Member, Members};

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

/// A value that nobody opened.
#[derive(Clone)]
pub(crate) struct Raw<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Which containers of the document's text it is made of; none where the value came later.
    spans: Range<u32>,
}

impl<'a> Document<'a> {
    /// Checks the grammar of the whole text, and opens nothing. How long a text may be is for the caller to say.
    ///
    /// # Errors
    /// What is not JSON, or nests deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    pub fn parse(text: &'a str) -> Result<Self, DocumentError> {
        let (text, index) = check(text)?;
        let spans = 0..index.spans().len() as u32;
        Ok(Self { root: Node::Raw(Raw { text: Cow::Borrowed(text), spans }), index, copied: 0 })
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
        if let Some(node) = self.root.find(pointer, spans) {
            node.open(spans);
        }
    }

    /// The document as JSON text; what was not touched, byte by byte as received.
    pub fn to_json(&self) -> String {
        self.view().to_json().into_owned()
    }
}

impl<'a> Node<'a> {
    /// A value that comes from elsewhere.
    pub(crate) fn foreign(text: String) -> Self {
        Node::Raw(Raw { text: Cow::Owned(text), spans: 0..0 })
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
    fn find(&mut self, path: &Pointer, spans: &[Span]) -> Option<&mut Node<'a>> {
        path.tokens().try_fold(self, |node, token| {
            node.open(spans);
            match node {
                Node::Array(items) => Arc::make_mut(items).get_mut(index(&token)?),
                Node::Object(members) => Arc::make_mut(members).get_mut(&token),
                Node::Raw(_) => None,
            }
        })
    }

    pub(crate) fn write(&self, json: &mut String) {
        match self {
            Node::Raw(raw) => json.push_str(&raw.text),
            Node::Array(items) => {
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    item.write(json);
                }
                json.push(']');
            }
            Node::Object(members) => {
                json.push('{');
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    json.push_str(&member.name);
                    json.push(':');
                    member.value.write(json);
                }
                json.push('}');
            }
        }
    }

    /// How deep the value nests: 0 for a scalar.
    fn depth(&self) -> usize {
        match self {
            Node::Raw(raw) => text::depth(&raw.text),
            Node::Array(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Node::Object(members) => 1 + members.iter().map(|member| member.value.depth()).max().unwrap_or(0),
        }
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
            Cow::Borrowed(text) => self.parts(Text { written: text, spans: known }, Cow::Borrowed),
            Cow::Owned(text) => {
                self.parts(Text { written: text, spans: known }, |part| Cow::Owned(part.to_owned()))
            }
        }
    }

    fn parts<'t>(&self, text: Text<'t, '_>, own: impl Fn(&'t str) -> Cow<'a, str>) -> Option<Node<'a>> {
        let mut next = self.spans.start + 1;
        let mut raw = |part: Text<'t, '_>| {
            let start = next;
            next += part.spans.len() as u32;
            Node::Raw(Raw { text: own(part.written), spans: start..next })
        };
        match text.kind() {
            Kind::Array => Some(Node::Array(Arc::new(text.values().map(raw).collect()))),
            Kind::Object => {
                let member = |(name, value)| Member { name: own(name), value: raw(value) };
                Some(Node::Object(Arc::new(text.members().map(member).collect())))
            }
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
        }
    }
}
