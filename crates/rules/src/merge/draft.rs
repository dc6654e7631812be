//! The object as it is becoming, and the operations that lead there.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{Document, Kind, Operation, Pointer, View};

use crate::decision::{Change, Origin};
use crate::yaml::quote;

/// Changes go through here one by one, so that each applies to what the ones before it made.
#[derive(Clone)]
pub(crate) struct Draft<'d> {
    document: Document<'d>,
    changes: Vec<Change>,
}

/// An operation that cannot be carried out: the object has another shape than a pod's.
#[derive(Debug)]
pub(crate) struct Misfit(pub(crate) String);

impl<'d> Draft<'d> {
    pub(crate) fn new(document: Document<'d>) -> Self {
        Self { document, changes: Vec::new() }
    }

    /// The object as somebody gets it who knows nothing of the changes.
    pub(crate) fn settled(&self) -> Self {
        Self::new(self.document.clone())
    }

    /// What came of a settled one, with the changes before it.
    pub(crate) fn followed_by(mut self, next: Self) -> Self {
        self.changes.extend(next.changes);
        Self { document: next.document, changes: self.changes }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> View<'_> {
        self.document.view()
    }

    /// The value at `pointer`; a null is none.
    pub(crate) fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.document.at(pointer).filter(|value| !value.is_null())
    }

    /// Sets the member at `pointer`, with the objects above it that are missing, in one operation.
    pub(crate) fn set(&mut self, pointer: &Pointer, json: String, origin: &Origin) -> Result<(), Misfit> {
        let (mut path, mut json) = (pointer.clone(), json);
        while let Some((parent, last)) = path.split_last()
            && self.at(&parent).is_none()
        {
            json = format!("{{{}:{json}}}", quote(&last));
            path = parent;
        }
        if let Some((parent, _)) = path.split_last() {
            self.expect(&parent, Kind::Object)?;
        }
        let value = raw(json)?;
        self.apply(Operation::Add { path, value }, origin)
    }

    /// Inserts into the list at `pointer`, which is there and has `length` items.
    pub(crate) fn insert(
        &mut self,
        list: &Pointer,
        index: usize,
        length: usize,
        json: String,
        origin: &Origin,
    ) -> Result<(), Misfit> {
        if length == 0 {
            self.expect(list, Kind::Array)?;
        }
        let path = if index < length { list.item(index) } else { list.child("-") };
        let value = raw(json)?;
        self.apply(Operation::Add { path, value }, origin)
    }

    pub(crate) fn replace(&mut self, path: &Pointer, json: String, origin: &Origin) -> Result<(), Misfit> {
        let value = raw(json)?;
        self.apply(Operation::Replace { path: path.clone(), value }, origin)
    }

    pub(crate) fn remove(&mut self, path: &Pointer, origin: &Origin) -> Result<(), Misfit> {
        self.apply(Operation::Remove { path: path.clone() }, origin)
    }

    /// Moves an item of the list at `pointer`; `to` is its place when all is done.
    pub(crate) fn shift(
        &mut self,
        list: &Pointer,
        from: usize,
        to: usize,
        origin: &Origin,
    ) -> Result<(), Misfit> {
        self.apply(Operation::Move { from: list.item(from), path: list.item(to) }, origin)
    }

    pub(crate) fn count(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The names of the rules that have changed something.
    pub(crate) fn authors(&self) -> HashSet<Arc<str>> {
        self.changes.iter().map(|change| Arc::clone(&change.origin.rule)).collect()
    }

    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// RFC 6902 would add a member `-` to a map that stands where a list belongs.
    fn expect(&self, pointer: &Pointer, kind: Kind) -> Result<(), Misfit> {
        let wanted = if kind == Kind::Array { "list" } else { "map" };
        match self.at(pointer) {
            Some(found) if found.kind() != kind => Err(Misfit(format!("{pointer} is no {wanted}"))),
            _ => Ok(()),
        }
    }

    fn apply(&mut self, operation: Operation, origin: &Origin) -> Result<(), Misfit> {
        self.document.apply(&operation).map_err(|error| Misfit(error.to_string()))?;
        self.changes.push(Change { operation, origin: origin.clone() });
        Ok(())
    }
}

fn raw(json: String) -> Result<Box<RawValue>, Misfit> {
    RawValue::from_string(json).map_err(|_| Misfit("a value of the rule is no JSON".to_owned()))
}
