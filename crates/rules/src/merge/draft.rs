//! The object as it is becoming, and the operations that lead there.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{ApplyError, Document, Edit, Kind, Mark, Operation, Patch, Pointer, View};

use super::known_present::KnownPresent;
use super::list_index::{IndexKey, ListIndex, ListIndexes, Positions};
use super::json;
use crate::decision::Origin;
use crate::rule::Item;
use crate::subject::Layout;

/// Changes go through here one by one, so that each applies to what the ones before it made.
pub(crate) struct Draft<'d> {
    edit: Edit<'d>,
    lists: ListIndexes,
    /// What was taken apart since the state that [`Self::base`] is.
    opened_since: Vec<Pointer>,
    /// A state of the document from which the later ones can be made again, with the number of operations that led there.
    base: Option<(Mark<'d>, usize)>,
    /// Whether an operation may have been carried out in part.
    broken: bool,
    /// One for each of its operations.
    origins: Vec<Origin>,
    /// How many of them were there when somebody got it who knows nothing of the changes.
    received_count: usize,
    /// Whether the usual places of a pod were taken apart.
    opened: bool,
    known: KnownPresent,
}

/// A state to come back to.
pub(crate) struct Checkpoint {
    count: usize,
}

/// An operation that cannot be carried out: the object has another shape than a pod's.
#[derive(Debug)]
pub(crate) struct ShapeError(pub(crate) String);

impl<'d> Draft<'d> {
    pub(crate) fn new(document: Document<'d>) -> Self {
        Self {
            edit: Edit::new(document),
            lists: ListIndexes::default(),
            opened_since: Vec::new(),
            base: None,
            broken: false,
            origins: Vec::new(),
            opened: false,
            received_count: 0,
            known: KnownPresent::default(),
        }
    }

    /// The object as somebody gets it who knows nothing of the changes.
    pub(crate) fn as_received(&self) -> Self {
        Self { received_count: self.origins.len(), ..self.clone() }
    }

    /// What came of a received_count one, with the changes before it.
    pub(crate) fn followed_by(&self, next: Self) -> Self {
        Self { received_count: self.received_count, ..next }
    }

    pub(crate) fn checkpoint(&mut self) -> Checkpoint {
        self.base.get_or_insert_with(|| (self.edit.mark(), self.origins.len()));
        Checkpoint { count: self.origins.len() }
    }

    /// Rules fail seldom, and a mark for each would copy every list that it changes: so what came before is made again.
    pub(crate) fn roll_back(&mut self, checkpoint: &Checkpoint, layout: &Layout) {
        // Who failed may have noted what it did not come to bring.
        self.known.forget();
        if self.origins.len() == checkpoint.count && !self.broken {
            return;
        }
        let Some((mark, count)) = self.base.take() else { return };
        let again = self.edit.operations().get(count..checkpoint.count).unwrap_or_default().to_vec();
        let undone = self.edit.operations().get(checkpoint.count..).unwrap_or_default();
        self.lists.go_back(checkpoint.count, undone);
        self.edit.go_back(mark);
        for operation in again {
            // They were carried out once. If one failed now, the patch would have lost its proof.
            let _ = self.edit.apply(operation);
        }
        (self.opened, self.broken) = (false, false);
        self.origins.truncate(checkpoint.count);
        // The next mark is one of the open places: many rules may fail.
        self.open(layout);
        self.opened_since.drain(..).for_each(|place| self.edit.open(&place));
    }

    /// Takes apart what every rule that acts looks at again and again.
    pub(crate) fn open(&mut self, layout: &Layout) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        self.edit.open_items(&layout.list("containers"));
    }

    /// Takes apart what stands at `place`, for whoever looks into it again and again.
    pub(super) fn open_at(&mut self, place: &Pointer) {
        if self.at(place).is_some_and(|found| found.as_written().is_some()) {
            self.edit.open(place);
            self.opened_since.push(place.clone());
        }
    }

    /// What was done since.
    pub(crate) fn since(&self, checkpoint: &Checkpoint) -> &[Operation] {
        self.edit.operations().get(checkpoint.count..).unwrap_or_default()
    }

    /// What it is known to hold of the items of rules; for who only adds to it, or says that it does more.
    pub(crate) fn known_present(&mut self) -> &mut KnownPresent {
        &mut self.known
    }

    /// The same, to ask.
    pub(crate) fn known(&self) -> &KnownPresent {
        &self.known
    }

    /// All of it.
    pub(crate) fn root(&self) -> View<'_> {
        self.edit.view()
    }

    /// The value at `pointer`; a null is none.
    pub(crate) fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.edit.document().at(pointer).filter(|value| !value.is_null())
    }

    /// Keeps an index of the list at `pointer` from now on, `by` what tells its items apart.
    pub(super) fn index(&mut self, list: &Pointer, by: &IndexKey) {
        if self.indexes(list).is_some_and(|kept| kept.are_enough(by)) || self.at(list).is_none() {
            return;
        }
        self.edit.open(list);
        self.opened_since.push(list.clone());
        let items = self.at(list).map(View::items).unwrap_or_default();
        self.lists.put(list, Positions::of(&items, by.clone()), self.origins.len());
    }

    /// Whether indexes of any list are kept.
    pub(super) fn keeps_indexes(&self) -> bool {
        self.lists.is_some()
    }

    /// Where the items of the list at `pointer` stand, if an index of it is kept.
    pub(super) fn indexes(&self, list: &Pointer) -> Option<&ListIndex> {
        self.lists.get(list)
    }

    /// The same by the keys that the schema names.
    pub(super) fn by_keys(&self, list: &Pointer) -> Option<&Positions> {
        self.indexes(list).and_then(ListIndex::by_keys)
    }

    /// Sets the member at `path`, with the objects above it that are missing, in one operation.
    pub(crate) fn set(&mut self, path: Pointer, value: Arc<RawValue>, origin: Origin) -> Result<(), ShapeError> {
        let mut next = (path, value);
        while let Some((path, value)) = self.edit.set(next.0, next.1).map_err(|error| self.fail(&error))? {
            let Some((parent, last)) = path.split_last() else {
                return self.apply(Operation::Add { path, value }, origin);
            };
            if self.at(&parent).is_some() {
                return Err(ShapeError(format!("{parent} is no map")));
            }
            let value = json::within(&last, &value)?;
            next = (parent, value);
        }
        if let Some(set) = self.edit.operations().last() {
            self.lists.changed(set.path());
        }
        self.origins.push(origin);
        Ok(())
    }

    /// Inserts items into the list at `list`, which is there and has `length` of them, one after the other, each at the index
    /// that it comes with. With the error comes the item that could not be inserted.
    pub(crate) fn insert<'i>(
        &mut self,
        list: &Pointer,
        length: usize,
        insertions: &[(usize, &'i Item)],
        origin: impl Fn(&Item) -> Origin,
    ) -> Result<(), (&'i Item, ShapeError)> {
        let Some((_, first)) = insertions.first() else { return Ok(()) };
        self.is_list(list, length).map_err(|error| (*first, error))?;
        let values = insertions.iter().map_while(|(index, item)| Some((*index, Arc::clone(item.json()?))));
        let done = self.edit.insert(list, values);
        let count = self.edit.operations().len().saturating_sub(self.origins.len());
        for (index, item) in insertions.iter().take(count) {
            self.origins.push(origin(item));
            self.lists.inserted(list, *index, item);
        }
        let Some((_, failed)) = insertions.get(count) else { return Ok(()) };
        self.broken = true;
        Err((*failed, done.map_or_else(|error| ShapeError(error.to_string()), |()| json::none())))
    }

    /// Adds `value` to the list at `list`, which is there and has `length` items.
    pub(crate) fn append(
        &mut self,
        list: &Pointer,
        length: usize,
        value: Arc<RawValue>,
        origin: Origin,
    ) -> Result<(), ShapeError> {
        self.is_list(list, length)?;
        self.apply(Operation::Add { path: list.child("-"), value }, origin)
    }

    /// RFC 6902 would add a member `-` to a map that stands where a list belongs.
    fn is_list(&self, list: &Pointer, length: usize) -> Result<(), ShapeError> {
        if length == 0 && self.at(list).is_some_and(|found| found.kind() != Kind::Array) {
            return Err(ShapeError(format!("{list} is no list")));
        }
        Ok(())
    }

    pub(crate) fn replace(
        &mut self,
        path: &Pointer,
        value: Arc<RawValue>,
        origin: Origin,
    ) -> Result<(), ShapeError> {
        self.apply(Operation::Replace { path: path.clone(), value }, origin)
    }

    pub(crate) fn remove(&mut self, path: &Pointer, origin: Origin) -> Result<(), ShapeError> {
        self.apply(Operation::Remove { path: path.clone() }, origin)
    }

    /// The same for the item at `index` of a list.
    pub(crate) fn remove_item(&mut self, list: &Pointer, index: usize, origin: Origin) -> Result<(), ShapeError> {
        self.known.forget();
        let path = list.item(index);
        self.edit.apply(Operation::Remove { path }).map_err(|error| self.fail(&error))?;
        self.origins.push(origin);
        self.lists.removed(list, index);
        Ok(())
    }

    /// Moves an item of the list at `pointer`; `to` is its place when all is done.
    pub(crate) fn shift(
        &mut self,
        list: &Pointer,
        from: usize,
        to: usize,
        origin: Origin,
    ) -> Result<(), ShapeError> {
        self.apply(Operation::Move { from: list.item(from), path: list.item(to) }, origin)
    }

    pub(crate) fn change_count(&self) -> usize {
        self.origins.len() - self.received_count
    }

    /// Where the changes come from.
    pub(crate) fn origins(&self) -> &[Origin] {
        self.origins.get(self.received_count..).unwrap_or_default()
    }

    /// The names of the rules that have changed something.
    pub(crate) fn authors(&self) -> HashSet<&Arc<str>> {
        authors(self.origins())
    }

    /// Whether its operations, one after the other, make of `received` what it holds.
    pub(crate) fn follows_from(&self, received: &Document<'_>) -> bool {
        let mut made = received.clone();
        made.apply_all(self.edit.operations()).is_ok() && made.view().same_as(self.edit.view())
    }

    pub(crate) fn into_patch(self) -> (Patch, Vec<Origin>) {
        (self.edit.into_patch(), self.origins)
    }

    fn apply(&mut self, operation: Operation, origin: Origin) -> Result<(), ShapeError> {
        if !matches!(operation, Operation::Add { .. }) {
            self.known.forget();
        }
        self.lists.changed(operation.path());
        self.edit.apply(operation).map_err(|error| self.fail(&error))?;
        self.origins.push(origin);
        Ok(())
    }

    fn fail(&mut self, error: &ApplyError) -> ShapeError {
        self.broken = true;
        ShapeError(error.to_string())
    }
}

/// The names of the rules that `origins` tell of.
pub(crate) fn authors(origins: &[Origin]) -> HashSet<&Arc<str>> {
    // What a rule does it mostly does in one go.
    let runs = origins.chunk_by(|one, next| Arc::ptr_eq(&one.rule, &next.rule));
    runs.filter_map(|run| run.first()).map(|origin| &origin.rule).collect()
}

/// A clone goes back to states of its own.
impl Clone for Draft<'_> {
    fn clone(&self) -> Self {
        Self {
            edit: self.edit.clone(),
            lists: self.lists.clone(),
            opened_since: Vec::new(),
            base: None,
            broken: self.broken,
            origins: self.origins.clone(),
            received_count: self.received_count,
            opened: self.opened,
            known: self.known.clone(),
        }
    }
}
