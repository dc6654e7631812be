//! Looking into a document.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::document::{Member, Node};
use crate::index::Span;
use crate::pointer::index;
use crate::text::{Text, Values};
use crate::{Pointer, text};

mod canonical;
mod sameness;

pub(crate) use sameness::Numbers;

/// So many levels are compared and written by recursion, or read where nobody knows where containers end. What a typed value
/// decodes is never deeper (serde_json's limit is 128).
pub(crate) const MAX_RECURSION: usize = 128;

/// A value somewhere in a document, to look at. What was not asked for is not read.
///
/// There is no `Debug`: a value may be somebody's secret.
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

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// Members by name.
    Object,
}

#[derive(Clone, Copy)]
enum Place<'d> {
    Text(Text<'d, 'd>),
    /// One that was opened, and the containers of the text it was opened from.
    Node(&'d Node<'d>, &'d [Span]),
}

/// The items of a list.
enum Items<'d> {
    Text(Values<'d, 'd>),
    Nodes(std::slice::Iter<'d, Node<'d>>, &'d [Span]),
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
    /// Looks into a value that stands in some other structure.
    pub fn of(value: &'d RawValue) -> Self {
        Self::text(value.get())
    }

    /// What kind of value this is.
    pub fn kind(self) -> Kind {
        match self.0 {
            Place::Text(text) => text.kind(),
            Place::Node(Node::Array(_), _) => Kind::Array,
            Place::Node(Node::Object(_), _) => Kind::Object,
            Place::Node(Node::Raw(raw), _) => text::kind(&raw.text),
        }
    }

    /// How deep the value nests: 0 for a scalar, 1 for `{}`.
    pub fn depth(self) -> usize {
        match self.0 {
            Place::Text(text) => text::depth(text.written),
            Place::Node(node, _) => node.depth(),
        }
    }

    /// The member `name`, if this is an object that has one. Of a doubled member the last one counts, as in Go.
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

    /// The members of these names, as [`get`](Self::get) finds each, in one walk over the object.
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

    /// The item `index` from 0, if this is a list that long.
    pub fn item(self, index: usize) -> Option<Self> {
        match self.0 {
            Place::Text(text) if text.kind() == Kind::Array => {
                text.values().nth(index).map(|item| Self(Place::Text(item)))
            }
            Place::Node(Node::Array(items), spans) => items.get(index).map(|node| Self::at(node, spans)),
            _ => None,
        }
    }

    /// The members of an object by their plain names, each name once; nothing for other values.
    pub fn entries(self) -> Vec<(Cow<'d, str>, Self)> {
        let mut entries = Vec::new();
        match self.0 {
            Place::Text(text) if text.kind() == Kind::Object => {
                entries.reserve(text.likely());
                let entry = |(name, letter, value)| (text::meaning(name, letter), Self(Place::Text(value)));
                entries.extend(text.members().map(entry));
            }
            Place::Node(Node::Object(members), spans) => {
                let entry = |member: &'d Member<'d>| (member.called(), Self::at(&member.value, spans));
                entries.extend(members.iter().map(entry));
            }
            _ => {}
        }
        if is_doubled(&entries) {
            let mut seen = HashSet::with_capacity(entries.len());
            let last: Vec<bool> = entries.iter().rev().map(|(name, _)| seen.insert(&**name)).collect();
            let mut last = last.into_iter().rev();
            entries.retain(|_| last.next() == Some(true));
        }
        entries
    }

    /// The items of a list; nothing for other values.
    pub fn items(self) -> Vec<Self> {
        let mut items = match self.0 {
            Place::Text(text) if text.kind() == Kind::Array => Vec::with_capacity(text.likely()),
            Place::Node(Node::Array(items), _) => Vec::with_capacity(items.len()),
            _ => Vec::new(),
        };
        items.extend(self.iter());
        items
    }

    /// The same one by one, for who looks at each once.
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

    /// The string, escapes resolved. Half a surrogate pair reads as U+FFFD, as in Go.
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        self.scalar(Kind::String).map(text::unescape)
    }

    /// The truth value.
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

    /// The value at `pointer`, seen from here.
    pub fn pointer(self, pointer: &Pointer) -> Option<Self> {
        pointer.tokens().try_fold(self, |view, token| match view.kind() {
            Kind::Array => view.item(index(&token)?),
            _ => view.get(&token),
        })
    }

    /// The value as JSON text: the very bytes received, where nothing inside was changed.
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

    /// The JSON text of a value in which nothing was changed or opened.
    pub fn as_written(self) -> Option<&'d str> {
        match self.0 {
            Place::Text(text) => Some(text.written),
            Place::Node(Node::Raw(raw), _) => Some(&raw.text),
            Place::Node(..) => None,
        }
    }

    /// Whether both are the same JSON value. The order of members and the way a string is escaped do not matter; numbers
    /// are the same only if written alike, because `1.0` is not `1` to everybody who will read it. Equal bytes are equal
    /// without being read. Below 128 levels of values that are no part of a [`Document`](crate::Document) only equal bytes are
    /// the same.
    pub fn same_as(self, other: View<'_>) -> bool {
        self.equals(other, Numbers::AsWritten)
    }

    /// Stands on a text that is known to be well-formed.
    pub(crate) fn text(text: &'d str) -> Self {
        Self(Place::Text(Text::plain(text)))
    }

    /// Stands on a part of a document, whose containers are `spans`; on its text, as long as nobody opened it.
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

/// Whether some name may be there twice: nothing is hashed for names in order, as everything is that Go has written from a
/// map, nor for the few members that most objects have.
fn is_doubled(entries: &[(Cow<'_, str>, View<'_>)]) -> bool {
    const FEW: usize = 12;
    let is_again = |(index, (name, _)): (usize, &(Cow<'_, str>, _))| {
        entries.iter().skip(index + 1).any(|(other, _)| name == other)
    };
    !entries.is_sorted_by(|(one, _), (other, _)| one < other)
        && (entries.len() > FEW || entries.iter().enumerate().any(is_again))
}
