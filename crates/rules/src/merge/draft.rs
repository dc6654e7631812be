//! The object as it is becoming, and the operations that lead there.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{Document, Edit, Kind, Mark, Operation, Patch, Pointer, View};

use crate::decision::Origin;
use crate::rule::Item;
use crate::yaml::quote;

/// Changes go through here one by one, so that each applies to what the ones before it made.
#[derive(Clone)]
pub(crate) struct Draft<'d> {
    edit: Edit<'d>,
    /// One for each of its operations.
    origins: Vec<Origin>,
    /// How many of them were there when somebody got it who knows nothing of the changes.
    settled: usize,
    /// Whether the usual places of a pod were taken apart.
    opened: bool,
}

/// A state to come back to.
pub(crate) struct Before<'d> {
    mark: Mark<'d>,
    count: usize,
}

/// An operation that cannot be carried out: the object has another shape than a pod's.
#[derive(Debug)]
pub(crate) struct Misfit(pub(crate) String);

impl<'d> Draft<'d> {
    pub(crate) fn new(document: Document<'d>) -> Self {
        Self { edit: Edit::new(document), origins: Vec::new(), opened: false, settled: 0 }
    }

    /// The object as somebody gets it who knows nothing of the changes.
    pub(crate) fn settled(&self) -> Self {
        Self { settled: self.origins.len(), ..self.clone() }
    }

    /// What came of a settled one, with the changes before it.
    pub(crate) fn followed_by(&self, next: Self) -> Self {
        Self { settled: self.settled, ..next }
    }

    pub(crate) fn before(&self) -> Before<'d> {
        Before { mark: self.edit.mark(), count: self.origins.len() }
    }

    pub(crate) fn go_back(&mut self, before: Before<'d>) {
        self.edit.go_back(before.mark);
        self.opened = false;
        self.origins.truncate(before.count);
    }

    /// Takes apart what every rule that acts looks at again and again.
    pub(crate) fn open(&mut self, spec: &Pointer) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let list = spec.child("containers");
        self.edit.open(&list);
        let length = self.at(&list).map_or(0, |list| list.items().len());
        (0..length).for_each(|index| self.edit.open(&list.item(index)));
    }

    /// Whether anything has changed since.
    pub(crate) fn is_after(&self, before: &Before<'d>) -> bool {
        self.origins.len() > before.count
    }

    /// All of it.
    pub(crate) fn whole(&self) -> View<'_> {
        self.edit.view()
    }

    /// The value at `pointer`; a null is none.
    pub(crate) fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.edit.document().at(pointer).filter(|value| !value.is_null())
    }

    /// Sets the member at `pointer`, with the objects above it that are missing, in one operation.
    pub(crate) fn set(&mut self, pointer: &Pointer, json: String, origin: &Origin) -> Result<(), Misfit> {
        let (mut path, mut json) = (pointer.clone(), json);
        while let Some((parent, last)) = path.split_last() {
            match self.at(&parent) {
                Some(found) if found.kind() == Kind::Object => break,
                Some(_) => return Err(Misfit(format!("{parent} is no map"))),
                None => json = format!("{{{}:{json}}}", quote(&last)),
            }
            path = parent;
        }
        let value = raw(json)?;
        self.apply(Operation::Add { path, value }, origin)
    }

    /// Inserts `item` into the list at `pointer`, which is there and has `length` items.
    pub(crate) fn insert(
        &mut self,
        list: &Pointer,
        index: usize,
        length: usize,
        item: impl Written,
        origin: &Origin,
    ) -> Result<(), Misfit> {
        // RFC 6902 would add a member `-` to a map that stands where a list belongs.
        if length == 0 && self.at(list).is_some_and(|found| found.kind() != Kind::Array) {
            return Err(Misfit(format!("{list} is no list")));
        }
        let path = if index < length { list.item(index) } else { list.child("-") };
        let value = item.written()?;
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
        self.origins.len() - self.settled
    }

    /// Where the changes come from.
    pub(crate) fn origins(&self) -> &[Origin] {
        self.origins.get(self.settled..).unwrap_or_default()
    }

    /// The names of the rules that have changed something.
    pub(crate) fn authors(&self) -> HashSet<&Arc<str>> {
        self.origins().iter().map(|origin| &origin.rule).collect()
    }

    pub(crate) fn into_patch(self) -> (Patch, Vec<Origin>) {
        (self.edit.into_patch(), self.origins)
    }

    fn apply(&mut self, operation: Operation, origin: &Origin) -> Result<(), Misfit> {
        self.edit.apply(operation).map_err(|error| Misfit(error.to_string()))?;
        self.origins.push(origin.clone());
        Ok(())
    }
}

/// What can be brought as a list item.
pub(crate) trait Written {
    fn written(self) -> Result<Box<RawValue>, Misfit>;
}

impl Written for &Item {
    fn written(self) -> Result<Box<RawValue>, Misfit> {
        self.json().map(ToOwned::to_owned).ok_or_else(no_json)
    }
}

impl Written for String {
    fn written(self) -> Result<Box<RawValue>, Misfit> {
        raw(self)
    }
}

fn no_json() -> Misfit {
    Misfit("a value of the rule is no JSON".to_owned())
}

fn raw(json: String) -> Result<Box<RawValue>, Misfit> {
    RawValue::from_string(json).map_err(|_| no_json())
}
