//! RFC 6902, without the leniency of common libraries.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Document, Node};
use crate::pointer::index;
use crate::view::Numbers;
use crate::{MAX_DEPTH, Operation, Pointer};

/// The most bytes that all `copy` operations on one document may add: without a limit, thirty of them could double it thirty
/// times.
const MAX_COPIED: usize = 3 << 20;

/// An operation that does not apply. It names the operation and the path, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplyError {
    /// The position of the operation in its list, from 0; [`None`] if it was applied alone.
    pub index: Option<usize>,
    /// The operation's name, such as `add`.
    pub operation: &'static str,
    /// The path of the failure: the operation's `path` or its `from`.
    pub path: Pointer,
    /// The reason.
    pub kind: ApplyErrorKind,
}

/// Why an operation does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyErrorKind {
    /// There is no object or list above the path.
    #[error("missing parent: no object or list stands above the path")]
    NoParent,
    /// There is no value at the path.
    #[error("missing path: no value stands there")]
    Missing,
    /// The last token is not an index of the list, or is beyond its end.
    #[error("invalid index: the list has no such place")]
    Index,
    /// A value cannot be moved into itself, and the whole document can be neither removed nor moved.
    #[error("the value holds the place it would go to, or is the whole document")]
    Inside,
    /// The value of a `test` differs.
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
    /// Applies one operation.
    ///
    /// # Errors
    /// The operation fails by RFC 6902. A `move` may then have removed its value already, so discard the document.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), ApplyError> {
        let done = match operation {
            Operation::Add { path, value } => {
                self.add(path, Node::from_operation(value)).map_err(|kind| (path, kind))
            }
            Operation::Remove { path } => self.take(path).map(drop).map_err(|kind| (path, kind)),
            Operation::Replace { path, value } => {
                self.replace(path, Node::from_operation(value)).map_err(|kind| (path, kind))
            }
            Operation::Move { from, path } => self.move_value(from, path),
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

    /// Applies operations one after the other, all or none.
    ///
    /// # Errors
    /// The first operation that fails, with its index; the document is then unchanged.
    pub fn apply_all(&mut self, operations: &[Operation]) -> Result<(), ApplyError> {
        // A clone copies nothing until one of the two changes.
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
    /// Inserts items into the list at `list`, one after the other, and adds the operations to `done`.
    pub(crate) fn insert(
        &mut self,
        list: &Pointer,
        items: impl IntoIterator<Item = (usize, Arc<RawValue>)>,
        done: &mut Vec<Operation>,
    ) -> Result<(), ApplyError> {
        let there = match self.container(list.as_str()).map_err(|kind| not_added(list, kind))? {
            Node::Array(there) => there,
            Node::Object(_) | Node::Raw(_) => return Err(not_added(list, ApplyErrorKind::NoParent)),
        };
        for (index, value) in items {
            let index = index.min(there.len());
            let path = if index < there.len() { list.item(index) } else { list.child("-") };
            let node = Node::from_operation(&value);
            fits(&path, &node).map_err(|kind| not_added(&path, kind))?;
            there.insert(index, node);
            done.push(Operation::Add { path, value });
        }
        Ok(())
    }

    /// Sets the member at `path`, if an object is above it.
    pub(crate) fn set(&mut self, path: &Pointer, value: &Arc<RawValue>) -> Result<bool, ApplyError> {
        let Some((parent, last)) = path.split_last_token() else { return Ok(false) };
        let Ok(Node::Object(members)) = self.container(parent) else { return Ok(false) };
        let value = Node::from_operation(value);
        fits(path, &value).map_err(|kind| not_added(path, kind))?;
        members.set(&last, value);
        Ok(true)
    }

    fn add(&mut self, path: &Pointer, value: Node<'a>) -> Result<(), ApplyErrorKind> {
        fits(path, &value)?;
        let Some((parent, last)) = path.split_last_token() else {
            self.root = value;
            return Ok(());
        };
        match self.container(parent)? {
            Node::Array(items) => {
                let place = if last == "-" { Some(items.len()) } else { index(&last) };
                let place = place.filter(|&place| place <= items.len()).ok_or(ApplyErrorKind::Index)?;
                items.insert(place, value);
            }
            Node::Object(members) => members.set(&last, value),
            Node::Raw(_) => return Err(ApplyErrorKind::NoParent),
        }
        Ok(())
    }

    fn take(&mut self, path: &Pointer) -> Result<Node<'a>, ApplyErrorKind> {
        let (parent, last) = path.split_last_token().ok_or(ApplyErrorKind::Inside)?;
        match self.container(parent)? {
            Node::Array(items) => {
                let place = index(&last).filter(|&place| place < items.len()).ok_or(ApplyErrorKind::Index)?;
                Ok(items.remove(place))
            }
            Node::Object(members) => members.remove(&last).ok_or(ApplyErrorKind::Missing),
            Node::Raw(_) => Err(ApplyErrorKind::NoParent),
        }
    }

    fn replace(&mut self, path: &Pointer, value: Node<'a>) -> Result<(), ApplyErrorKind> {
        fits(path, &value)?;
        *self.root.find(path.as_str(), self.index.spans()).ok_or(ApplyErrorKind::Missing)? = value;
        Ok(())
    }

    fn move_value<'p>(
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
        // A value that nests deeper than [`MAX_DEPTH`] is in no document, so it differs.
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

/// A patch must not make a document deeper than [`MAX_DEPTH`], since kube-apiserver could not read it.
fn fits(path: &Pointer, value: &Node<'_>) -> Result<(), ApplyErrorKind> {
    let above = path.as_str().bytes().filter(|byte| *byte == b'/').count();
    // Each level takes two brackets.
    let surely = matches!(value, Node::Raw(raw) if above + raw.text.len() / 2 <= MAX_DEPTH);
    if surely || above + value.depth() <= MAX_DEPTH { Ok(()) } else { Err(ApplyErrorKind::Depth) }
}
