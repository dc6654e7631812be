//! RFC 6902, strictly.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Document, Node};
use crate::pointer::index;
use crate::view::Numbers;
use crate::{MAX_DEPTH, Operation, Pointer};

/// The most that all `copy` operations on one document may add, in bytes: thirty of them can double it thirty times.
const MAX_COPIED: usize = 3 << 20;

/// An operation that does not apply. Names the operation and the place, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplyError {
    /// Which operation of a list it was, from 0; `None` if it was applied alone.
    pub index: Option<usize>,
    /// The operation's name, such as `add`.
    pub operation: &'static str,
    /// The place the operation stumbled over: its `path`, or its `from`.
    pub path: Pointer,
    /// What is wrong with it.
    pub kind: ApplyErrorKind,
}

/// Why an operation does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyErrorKind {
    /// There is no object or list above the place.
    #[error("missing parent: no object or list stands above the path")]
    NoParent,
    /// Nothing stands at the place.
    #[error("missing path: no value stands there")]
    Missing,
    /// The last step is no index of the list, or lies beyond its end.
    #[error("invalid index: the list has no such place")]
    Index,
    /// A value cannot be moved into itself, and the whole document can be neither removed nor moved.
    #[error("the value holds the place it would go to, or is the whole document")]
    Inside,
    /// A `test` found another value.
    #[error("test failed: another value stands there")]
    Differs,
    /// The document would nest deeper than [`MAX_DEPTH`].
    #[error("the document would nest deeper than {MAX_DEPTH} levels")]
    Depth,
    /// The copies would take more than 3 MiB.
    #[error("the copies would take more than 3 MiB")]
    Size,
}

impl Document<'_> {
    /// Carries out one operation.
    ///
    /// # Errors
    /// Where RFC 6902 says that the operation fails. A `move` may then have taken its value away already: throw the
    /// document away.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let done = match operation {
            Operation::Add { path, value } => {
                self.add(path, Node::brought(value)).map_err(|kind| (path, kind))
            }
            Operation::Remove { path } => self.take(path).map(drop).map_err(|kind| (path, kind)),
            Operation::Replace { path, value } => {
                self.replace(path, Node::brought(value)).map_err(|kind| (path, kind))
            }
            Operation::Move { from, path } => self.shift(from, path),
            Operation::Copy { from, path } => self.copy(from, path),
            Operation::Test { path, value } => self.test(path, value).map_err(|kind| (path, kind)),
        };
        done.map_err(|(path, kind)| ApplyError {
            index: None,
            operation: operation.name(),
            path: path.clone(),
            kind,
        })
    }

    /// Carries out operations one after the other, all or none.
    ///
    /// # Errors
    /// The first operation that fails, with its index; the document is then as it was.
    pub fn apply_all(&mut self, operations: &[Operation]) -> Result<(), ApplyError> {
        // Nothing but a reference while nobody has changed anything.
        let before = self.clone();
        let applied = operations.iter().enumerate().try_for_each(|(index, operation)| {
            self.apply(operation).map_err(|error| ApplyError { index: Some(index), ..error })
        });
        if applied.is_err() {
            *self = before;
        }
        applied
    }
}

impl<'a> Document<'a> {
    /// Inserts into the list at `list`, one after the other; what was carried out is added to `done`.
    pub(crate) fn insert(
        &mut self,
        list: &Pointer,
        items: impl IntoIterator<Item = (usize, Arc<RawValue>)>,
        done: &mut Vec<Operation>,
    ) -> Result<(), ApplyError> {
        let there = match self.container(list.as_str()).map_err(|kind| not_added(list, kind))? {
            Node::Array(there) => Arc::make_mut(there),
            Node::Object(_) | Node::Raw(_) => return Err(not_added(list, ApplyErrorKind::NoParent)),
        };
        for (index, value) in items {
            let index = index.min(there.len());
            let path = if index < there.len() { list.item(index) } else { list.child("-") };
            let node = Node::brought(&value);
            fits(&path, &node).map_err(|kind| not_added(&path, kind))?;
            there.insert(index, node);
            done.push(Operation::Add { path, value });
        }
        Ok(())
    }

    /// Sets the member that `path` ends with, if an object stands above it.
    pub(crate) fn set(&mut self, path: &Pointer, value: &Arc<RawValue>) -> Result<bool, ApplyError> {
        let Some((parent, last)) = path.last_step() else { return Ok(false) };
        let Ok(Node::Object(members)) = self.container(parent) else { return Ok(false) };
        let value = Node::brought(value);
        fits(path, &value).map_err(|kind| not_added(path, kind))?;
        Arc::make_mut(members).set(&last, value);
        Ok(true)
    }

    fn add(&mut self, path: &Pointer, value: Node<'a>) -> Result<(), ApplyErrorKind> {
        fits(path, &value)?;
        let Some((parent, last)) = path.last_step() else {
            self.root = value;
            return Ok(());
        };
        match self.container(parent)? {
            Node::Array(items) => {
                let items = Arc::make_mut(items);
                let place = if last == "-" { Some(items.len()) } else { index(&last) };
                let place = place.filter(|&place| place <= items.len()).ok_or(ApplyErrorKind::Index)?;
                items.insert(place, value);
            }
            Node::Object(members) => Arc::make_mut(members).set(&last, value),
            Node::Raw(_) => return Err(ApplyErrorKind::NoParent),
        }
        Ok(())
    }

    fn take(&mut self, path: &Pointer) -> Result<Node<'a>, ApplyErrorKind> {
        let (parent, last) = path.last_step().ok_or(ApplyErrorKind::Inside)?;
        match self.container(parent)? {
            Node::Array(items) => {
                let items = Arc::make_mut(items);
                let place = index(&last).filter(|&place| place < items.len()).ok_or(ApplyErrorKind::Index)?;
                Ok(items.remove(place))
            }
            Node::Object(members) => Arc::make_mut(members).remove(&last).ok_or(ApplyErrorKind::Missing),
            Node::Raw(_) => Err(ApplyErrorKind::NoParent),
        }
    }

    fn replace(&mut self, path: &Pointer, value: Node<'a>) -> Result<(), ApplyErrorKind> {
        fits(path, &value)?;
        *self.root.find(path.as_str(), self.index.spans()).ok_or(ApplyErrorKind::Missing)? = value;
        Ok(())
    }

    fn shift<'p>(
        &mut self,
        from: &'p Pointer,
        path: &'p Pointer,
    ) -> Result<(), (&'p Pointer, ApplyErrorKind)> {
        if from == path {
            return self.at(from).map(drop).ok_or((from, ApplyErrorKind::Missing));
        }
        if path.as_str().strip_prefix(from.as_str()).is_some_and(|below| below.starts_with('/')) {
            return Err((path, ApplyErrorKind::Inside));
        }
        let value = self.take(from).map_err(|kind| (from, kind))?;
        self.add(path, value).map_err(|kind| (path, kind))
    }

    fn copy<'p>(
        &mut self,
        from: &'p Pointer,
        path: &'p Pointer,
    ) -> Result<(), (&'p Pointer, ApplyErrorKind)> {
        let value = self.at(from).ok_or((from, ApplyErrorKind::Missing))?.to_json();
        let copied = self.copied.saturating_add(value.len());
        if copied > MAX_COPIED {
            return Err((from, ApplyErrorKind::Size));
        }
        let value = Node::copied(&value);
        self.copied = copied;
        self.add(path, value).map_err(|kind| (path, kind))
    }

    fn test(&self, path: &Pointer, value: &RawValue) -> Result<(), ApplyErrorKind> {
        let found = self.at(path).ok_or(ApplyErrorKind::Missing)?;
        // One that nests deeper than any document is the value of none.
        let wanted = Document::parse(value.get()).map_err(|_| ApplyErrorKind::Differs)?;
        if found.equals(wanted.view(), Numbers::ByValue) { Ok(()) } else { Err(ApplyErrorKind::Differs) }
    }

    /// The node at `path`, opened.
    fn container(&mut self, path: &str) -> Result<&mut Node<'a>, ApplyErrorKind> {
        let spans = self.index.spans();
        let node = self.root.find(path, spans).ok_or(ApplyErrorKind::NoParent)?;
        node.open(spans);
        Ok(node)
    }
}

impl std::error::Error for ApplyError {}

impl fmt::Display for ApplyError {
    /// `operation 3: cannot add at /metadata/labels/app: no object or list stands above it`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(formatter, "operation {index}: ")?;
        }
        let place = if self.path.is_root() { "the whole document" } else { self.path.as_str() };
        write!(formatter, "cannot {} at {place}: {}", self.operation, self.kind)
    }
}

fn not_added(path: &Pointer, kind: ApplyErrorKind) -> ApplyError {
    ApplyError { index: None, operation: "add", path: path.clone(), kind }
}

/// No path makes a document deeper than one that could have been read: kube-apiserver would not read it.
fn fits(path: &Pointer, value: &Node<'_>) -> Result<(), ApplyErrorKind> {
    let above = path.as_str().bytes().filter(|byte| *byte == b'/').count();
    // Every level takes two brackets.
    let surely = matches!(value, Node::Raw(raw) if above + raw.text.len() / 2 <= MAX_DEPTH);
    if surely || above + value.depth() <= MAX_DEPTH { Ok(()) } else { Err(ApplyErrorKind::Depth) }
}
