//! Reads values of a document.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::document::{Member, Node};
use crate::grammar::trimmed;
use crate::index::Span;
use crate::pointer::index;
use crate::text::{Text, Values};
use crate::{Document, Kind, Outline, Pointer, text};

mod canonical;
mod equality;

pub(crate) use equality::Numbers;

/// The most levels that are compared and written by recursion, or read without recorded containers. Typed values are never deeper,
/// since serde_json's limit is 128.
pub(crate) const MAX_RECURSION: usize = 128;

/// A view of a value in a document. Parts that are not accessed are not read.
///
/// There is no `Debug`, since a value may be a secret.
///
/// ```
/// use vestibule_patch::Document;
///
/// let document = Document::parse(r#"{"spec": {"containers": [{"name": "app"}]}}"#)?;
/// let names: Vec<_> = document.at(&"/spec/containers".parse()?).into_iter()
///     .flat_map(|containers| containers.items())
///     .filter_map(|container| container.get("name")?.as_str())
///     .collect();
/// assert_eq!(names, ["app"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct View<'d>(Place<'d>);

#[derive(Clone, Copy)]
enum Place<'d> {
    Text(Text<'d, 'd>),
    /// An opened container, and the containers of the document's text.
    Node(&'d Node<'d>, &'d [Span]),
}

/// The items of a list.
enum Items<'d> {
    Text(Values<'d, 'd>),
    Nodes(std::slice::Iter<'d, Node<'d>>, &'d [Span]),
}

impl Document<'_> {
    /// A view of the whole document.
    pub fn view(&self) -> View<'_> {
        View::at(self.root(), self.spans())
    }

    /// The value at `pointer`.
    pub fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.view().pointer(pointer)
    }
}

impl<'d> Iterator for Items<'d> {
    type Item = View<'d>;

    #[inline]
    fn next(&mut self) -> Option<View<'d>> {
        match self {
            Self::Text(values) => values.next().map(|item| View(Place::Text(item))),
            Self::Nodes(nodes, spans) => nodes.next().map(|node| View::at(node, spans)),
        }
    }
}

impl<'d> View<'d> {
    /// A view of a value that is not in a document.
    pub fn of(value: &'d RawValue) -> Self {
        Self::text(value.get())
    }

    /// A view of a text that was read before: containers are skipped without reading them. [`None`] if `outline` is of another
    /// text, as for [`Document::resume`].
    pub fn resume(text: &'d str, outline: &'d Outline) -> Option<Self> {
        let text = trimmed(text);
        let spans = outline.of(text)?.spans_of_part();
        Some(Self(Place::Text(Text { written: text, spans })))
    }

    /// The kind of the value.
    pub fn kind(self) -> Kind {
        match self.0 {
            Place::Text(text) => text.kind(),
            Place::Node(Node::Array(_), _) => Kind::Array,
            Place::Node(Node::Object(_), _) => Kind::Object,
            Place::Node(Node::Raw(raw), _) => text::kind(&raw.text),
        }
    }

    /// The number of levels: 0 for a scalar, 1 for `{}`.
    pub fn depth(self) -> usize {
        match self.0 {
            Place::Text(text) => text::depth(text.written),
            Place::Node(node, _) => node.depth(),
        }
    }

    /// The member `name`, if this is an object that has it. Of duplicates the last one counts, as in Go.
    pub fn get(self, name: &str) -> Option<Self> {
        match self.0 {
            Place::Text(text) => {
                let [found] = text.last_members([name]);
                found.map(|value| Self(Place::Text(value)))
            }
            Place::Node(Node::Object(members), spans) => members.get(name).map(|node| Self::at(node, spans)),
            _ => None,
        }
    }

    /// The members of these names, as [`get`](Self::get) returns each, in one pass over the object.
    ///
    /// ```
    /// use vestibule_patch::Document;
    ///
    /// let document = Document::parse(r#"{"name": "app", "tty": true}"#)?;
    /// let [tty, image] = document.view().select(["tty", "image"]);
    /// assert!(tty.and_then(|tty| tty.as_bool()) == Some(true) && image.is_none());
    /// # Ok::<(), vestibule_patch::DocumentError>(())
    /// ```
    pub fn select<const N: usize>(self, names: [&str; N]) -> [Option<Self>; N] {
        match self.0 {
            Place::Text(text) => text.last_members(names).map(|value| Some(Self(Place::Text(value?)))),
            Place::Node(..) => names.map(|name| self.get(name)),
        }
    }

    /// The item at `index`, from 0, if this is a list that has it.
    pub fn item(self, index: usize) -> Option<Self> {
        match self.0 {
            Place::Text(text) if text.kind() == Kind::Array => {
                text.values().nth(index).map(|item| Self(Place::Text(item)))
            }
            Place::Node(Node::Array(items), spans) => items.get(index).map(|node| Self::at(node, spans)),
            _ => None,
        }
    }

    /// The members of an object by their unescaped names, without duplicates; empty for other values.
    pub fn entries(self) -> Vec<(Cow<'d, str>, Self)> {
        let mut entries = Vec::new();
        match self.0 {
            Place::Text(text) if text.kind() == Kind::Object => {
                entries.reserve(text.likely());
                let entry = |(name, letter, value)| (text::meaning(name, letter), Self(Place::Text(value)));
                entries.extend(text.members().map(entry));
            }
            Place::Node(Node::Object(members), spans) => {
                let entry = |member: &'d Member<'d>| (member.plain_name(), Self::at(&member.value, spans));
                entries.extend(members.iter().map(entry));
            }
            _ => {}
        }
        if may_have_duplicates(&entries) {
            let mut seen = HashSet::with_capacity(entries.len());
            let last: Vec<bool> = entries.iter().rev().map(|(name, _)| seen.insert(&**name)).collect();
            let mut last = last.into_iter().rev();
            entries.retain(|_| last.next() == Some(true));
        }
        entries
    }

    /// The items of a list; empty for other values.
    pub fn items(self) -> Vec<Self> {
        let mut items = match self.0 {
            Place::Text(text) if text.kind() == Kind::Array => Vec::with_capacity(text.likely()),
            Place::Node(Node::Array(items), _) => Vec::with_capacity(items.len()),
            _ => Vec::new(),
        };
        items.extend(self.iter());
        items
    }

    /// An iterator over the items of a list; empty for other values.
    pub fn iter(self) -> impl Iterator<Item = Self> {
        self.each()
    }

    fn each(self) -> Items<'d> {
        match self.0 {
            Place::Text(text) if text.kind() == Kind::Array => Items::Text(text.values()),
            Place::Node(Node::Array(items), spans) => Items::Nodes(items.iter(), spans),
            _ => Items::Nodes([].iter(), &[]),
        }
    }

    /// The string, unescaped. Half a surrogate pair reads as U+FFFD, as in Go.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        self.scalar(Kind::String).map(text::unescape)
    }

    /// The boolean.
    pub fn as_bool(self) -> Option<bool> {
        self.scalar(Kind::Bool).map(|text| text == "true")
    }

    /// The number, if it is written as an integer and fits.
    pub fn as_i64(self) -> Option<i64> {
        self.scalar(Kind::Number)?.parse().ok()
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// The value at `pointer`, relative to this value.
    pub fn pointer(self, pointer: &Pointer) -> Option<Self> {
        pointer.tokens().try_fold(self, |view, token| match view.kind() {
            Kind::Array => view.item(index(&token)?),
            _ => view.get(&token),
        })
    }

    /// The value as JSON text: the bytes received, if nothing in it was changed.
    pub fn to_json(self) -> Cow<'d, str> {
        match self.0 {
            Place::Text(text) => Cow::Borrowed(text.written),
            Place::Node(Node::Raw(raw), _) => Cow::Borrowed(&raw.text),
            Place::Node(node, _) => {
                let mut json = String::new();
                node.write(&mut json);
                Cow::Owned(json)
            }
        }
    }

    /// The text of the value, if nothing in it was changed or opened.
    pub fn as_written(self) -> Option<&'d str> {
        match self.0 {
            Place::Text(text) => Some(text.written),
            Place::Node(Node::Raw(raw), _) => Some(&raw.text),
            Place::Node(..) => None,
        }
    }

    /// Whether both are the same JSON value, with any order of members and any escapes of strings. Numbers must be written alike, since
    /// some programs distinguish `1.0` from `1`. Equal bytes are not parsed. Below 128 levels of values that are not in a
    /// [`Document`](crate::Document), only equal bytes are the same.
    pub fn same_as(self, other: View<'_>) -> bool {
        self.equals(other, Numbers::AsWritten)
    }

    /// A view of a text whose grammar was checked.
    pub(crate) fn text(text: &'d str) -> Self {
        Self(Place::Text(Text::plain(text)))
    }

    /// A view of a part of a document whose containers are `spans`.
    pub(crate) fn at(node: &'d Node<'d>, spans: &'d [Span]) -> Self {
        match node {
            Node::Raw(raw) => Self(Place::Text(raw.text(spans))),
            opened => Self(Place::Node(opened, spans)),
        }
    }

    fn scalar(self, kind: Kind) -> Option<&'d str> {
        match self.0 {
            Place::Text(text) if text.kind() == kind => Some(text.written),
            _ => None,
        }
    }
}

/// Whether a name may occur twice. Sorted names, as Go writes them from maps, and the few members of most objects are checked without
/// hashing.
fn may_have_duplicates(entries: &[(Cow<'_, str>, View<'_>)]) -> bool {
    const FEW: usize = 12;
    let is_again = |(index, (name, _)): (usize, &(Cow<'_, str>, _))| {
        entries.iter().skip(index + 1).any(|(other, _)| name == other)
    };
    !entries.is_sorted_by(|(one, _), (other, _)| one < other)
        && (entries.len() > FEW || entries.iter().enumerate().any(is_again))
}
