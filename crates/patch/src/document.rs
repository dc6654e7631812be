//! The lazy document: text where nobody changed anything, a tree where somebody did.

use std::borrow::Cow;

use crate::grammar::check;
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
    /// Bytes that `copy` operations have added.
    copied: usize,
}

/// A value in a document.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    Raw(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    Object(Members<'a>),
}

impl<'a> Document<'a> {
    /// Checks the grammar of the whole text, and opens nothing. How long a text may be is for the caller to say.
    ///
    /// # Errors
    /// What is not JSON, or nests deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    pub fn parse(text: &'a str) -> Result<Self, DocumentError> {
        Ok(Self { root: Node::Raw(Cow::Borrowed(check(text)?)), copied: 0 })
    }

    /// The whole document, to look at.
    pub fn view(&self) -> View<'_> {
        View::at(&self.root)
    }

    /// The value at `pointer`.
    pub fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.view().pointer(pointer)
    }

    /// Takes apart what stands on the way to `pointer`, and what stands there. That changes nothing but the time it takes to
    /// look at it: whoever looks often into a large document reads its text once.
    pub fn open(&mut self, pointer: &Pointer) {
        if let Some(node) = self.find(pointer) {
            node.open();
        }
    }

    /// The document as JSON text; what was not touched, byte by byte as received.
    pub fn to_json(&self) -> String {
        self.view().to_json().into_owned()
    }
}

impl<'a> Node<'a> {
    /// Takes a container one level apart.
    fn open(&mut self) {
        let opened = match self {
            Node::Raw(Cow::Borrowed(text)) => split(text, Cow::Borrowed),
            Node::Raw(Cow::Owned(text)) => split(text, |part| Cow::Owned(part.to_owned())),
            Node::Array(_) | Node::Object(_) => None,
        };
        if let Some(opened) = opened {
            *self = opened;
        }
    }

    pub(crate) fn write(&self, json: &mut String) {
        match self {
            Node::Raw(text) => json.push_str(text),
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
            Node::Raw(text) => text::depth(text),
            Node::Array(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Node::Object(members) => 1 + members.iter().map(|member| member.value.depth()).max().unwrap_or(0),
        }
    }
}

fn split<'t, 'a>(text: &'t str, part: impl Fn(&'t str) -> Cow<'a, str>) -> Option<Node<'a>> {
    match text::kind(text) {
        Kind::Array => Some(Node::Array(text::values(text).map(|item| Node::Raw(part(item))).collect())),
        Kind::Object => {
            let member = |(name, value)| Member { name: part(name), value: Node::Raw(part(value)) };
            Some(Node::Object(text::members(text).map(member).collect()))
        }
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
    }
}
