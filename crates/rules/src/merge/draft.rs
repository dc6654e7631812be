//! The working document of an evaluation: the object as changed so far, and the operations with their origins.
//!
//! Operations are recorded while rules change the object. A diff of the result would take two to three times as long as the
//! whole evaluation, and would not know which part of which rule made a change.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{ApplyError, Document, Edit, Kind, Mark, Operation, Patch, Pointer, View};

use super::json;
use super::known_present::KnownPresent;
use super::list_index::{IndexKey, ListIndex, ListIndexes};
use crate::decision::Origin;
use crate::pod::Shape;
use crate::rule::Item;
use crate::subject::Layout;

/// Every change is one operation, applied to the result of the operations before it. Clones share no checkpoints.
#[derive(Clone)]
pub(crate) struct Draft<'d> {
    /// The pointers to the pod in the object.
    pub(crate) layout: &'static Layout,
    /// The schemas of the parts of the pod.
    pub(crate) shape: Shape,
    /// The object as it was received.
    received: Document<'d>,
    edit: Edit<'d>,
    lists: ListIndexes,
    base: Base<'d>,
    /// Whether an operation may have been applied in part.
    broken: bool,
    /// The origin of each operation.
    origins: Vec<Origin>,
    /// The number of operations that an evaluation regards as part of the received object; see [`Self::as_received`].
    received_count: usize,
    /// Whether the containers were opened.
    opened: bool,
    /// The items of rules that are known to be in the object.
    pub(super) known: KnownPresent,
}

/// The state from which a roll back starts.
#[derive(Default)]
struct Base<'d> {
    /// The document, and the number of operations that led to it.
    mark: Option<(Mark<'d>, usize)>,
    /// The places that were opened since.
    opened_since: Vec<Pointer>,
}

/// The mark of a draft is not valid for a clone of the draft.
impl Clone for Base<'_> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A state for [`Draft::roll_back`]: the number of operations that led to it.
pub(crate) struct Checkpoint {
    count: usize,
}

impl<'d> Draft<'d> {
    pub(crate) fn new(document: Document<'d>, layout: &'static Layout, shape: Shape) -> Self {
        Self {
            layout,
            shape,
            received: document.clone(),
            edit: Edit::new(document),
            lists: ListIndexes::default(),
            base: Base::default(),
            broken: false,
            origins: Vec::new(),
            opened: false,
            received_count: 0,
            known: KnownPresent::default(),
        }
    }

    /// The draft for a new evaluation, which regards the changes so far as part of the received object.
    pub(crate) fn as_received(&self) -> Self {
        Self { received_count: self.origins.len(), ..self.clone() }
    }

    /// The result `next` of an evaluation of [`as_received`](Self::as_received), with the changes from before it.
    pub(crate) fn followed_by(&self, next: Self) -> Self {
        Self { received_count: self.received_count, ..next }
    }

    /// The draft whose changes of the received object count as changes of this evaluation.
    pub(crate) fn with_received_changes(self) -> Self {
        Self { received_count: 0, ..self }
    }

    /// The state before a rule.
    pub(crate) fn checkpoint(&mut self) -> Checkpoint {
        self.base.mark.get_or_insert_with(|| (self.edit.mark(), self.origins.len()));
        Checkpoint { count: self.origins.len() }
    }

    /// Returns to a checkpoint: goes back to the base and repeats the operations up to the checkpoint. A mark for each rule would
    /// copy every list that the rule changes, and rules fail seldom.
    pub(crate) fn roll_back(&mut self, checkpoint: &Checkpoint) {
        // The rule may have noted items that it has not inserted.
        self.known.clear();
        if self.origins.len() == checkpoint.count && !self.broken {
            return;
        }
        let Some((mark, count)) = self.base.mark.take() else { return };
        let again = self.edit.operations().get(count..checkpoint.count).unwrap_or_default().to_vec();
        let undone = self.edit.operations().get(checkpoint.count..).unwrap_or_default();
        self.lists.roll_back(checkpoint.count, undone);
        self.edit.go_back(mark);
        for operation in again {
            // The operations have succeeded before. If one failed here, the patch would not carry the proof that it applies.
            let _ = self.edit.apply(operation);
        }
        (self.opened, self.broken) = (false, false);
        self.origins.truncate(checkpoint.count);
        // Places are opened before the next mark is set, because many rules may fail.
        self.open();
        self.base.opened_since.drain(..).for_each(|place| self.edit.open(&place));
    }

    /// Opens the specification and the containers, which every rule looks at.
    pub(crate) fn open(&mut self) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        self.edit.open(&self.layout.spec);
        self.edit.open_items(&self.layout.list("containers"));
    }

    /// Opens the value at `place` for frequent lookups.
    pub(super) fn open_at(&mut self, place: &Pointer) {
        if self.at(place).is_some_and(|found| found.as_written().is_some()) {
            self.edit.open(place);
            self.base.opened_since.push(place.clone());
        }
    }

    /// The operations since `checkpoint`.
    pub(crate) fn since(&self, checkpoint: &Checkpoint) -> &[Operation] {
        self.edit.operations().get(checkpoint.count..).unwrap_or_default()
    }

    /// The object as it was received.
    pub(super) fn received(&self) -> View<'_> {
        self.received.view()
    }

    /// The whole object.
    pub(crate) fn root(&self) -> View<'_> {
        self.edit.view()
    }

    /// The value at `pointer`, unless it is null.
    pub(crate) fn at(&self, pointer: &Pointer) -> Option<View<'_>> {
        self.edit.document().at(pointer).filter(|value| !value.is_null())
    }

    /// Keeps an index of `list` by `key` from now on.
    pub(super) fn index(&mut self, list: &Pointer, key: &IndexKey) {
        if self.lists.are_enough(list, key) || self.at(list).is_none() {
            return;
        }
        self.edit.open(list);
        self.base.opened_since.push(list.clone());
        let items = self.at(list).map(View::items).unwrap_or_default();
        self.lists.add(list, ListIndex::of(&items, key.clone(), self.origins.len()));
    }

    /// Whether indexes of any list are kept.
    pub(super) fn keeps_indexes(&self) -> bool {
        !self.lists.is_empty()
    }

    /// The indexes of `list` that are kept.
    pub(super) fn indexes(&self, list: &Pointer) -> &[ListIndex] {
        self.lists.get(list)
    }

    /// The index of `list` by its merge keys, if it is kept.
    pub(super) fn by_keys(&self, list: &Pointer) -> Option<&ListIndex> {
        self.indexes(list).iter().find(|one| matches!(one.by, IndexKey::Keys(_)))
    }

    /// Sets the member at `path` in one operation, together with the objects above it that are absent.
    pub(crate) fn set(&mut self, path: Pointer, value: Arc<RawValue>, origin: Origin) -> Result<(), String> {
        let mut next = (path, value);
        while let Some((path, value)) = self.edit.set(next.0, next.1).map_err(|error| self.fail(&error))? {
            let Some((parent, last)) = path.split_last() else {
                return self.apply(Operation::Add { path, value }, origin);
            };
            if self.at(&parent).is_some() {
                return Err(format!("{parent} is not a map"));
            }
            next = (parent, json::of(&BTreeMap::from([(&*last, &*value)]))?);
        }
        if let Some(set) = self.edit.operations().last() {
            self.lists.changed(set.path());
        }
        self.origins.push(origin);
        Ok(())
    }

    /// Inserts items one after the other into the existing list `list` of `length` items, each at its index. The error has the item
    /// that could not be inserted.
    pub(crate) fn insert<'i>(
        &mut self,
        list: &Pointer,
        length: usize,
        insertions: &[(usize, &'i Item)],
        origin: impl Fn(&Item) -> Origin,
    ) -> Result<(), (&'i Item, String)> {
        let Some((_, first)) = insertions.first() else { return Ok(()) };
        self.check_list(list, length).map_err(|error| (*first, error))?;
        let values = insertions.iter().map_while(|(index, item)| Some((*index, Arc::clone(item.json()?))));
        let done = self.edit.insert(list, values);
        let count = self.edit.operations().len().saturating_sub(self.origins.len());
        for (index, item) in insertions.iter().take(count) {
            self.origins.push(origin(item));
            self.lists.inserted(list, *index, item);
        }
        let Some((_, failed)) = insertions.get(count) else { return Ok(()) };
        self.broken = true;
        Err((*failed, done.map_or_else(|error| error.to_string(), |()| json::not_json())))
    }

    /// Appends `value` to the existing list `list` of `length` items.
    pub(crate) fn append(
        &mut self,
        list: &Pointer,
        length: usize,
        value: Arc<RawValue>,
        origin: Origin,
    ) -> Result<(), String> {
        self.check_list(list, length)?;
        self.apply(Operation::Add { path: list.child("-"), value }, origin)
    }

    /// If the value were a map, the operation would add a member `-` or `0` to it.
    fn check_list(&self, list: &Pointer, length: usize) -> Result<(), String> {
        if length == 0 && self.at(list).is_some_and(|found| found.kind() != Kind::Array) {
            return Err(format!("{list} is not a list"));
        }
        Ok(())
    }

    /// Applies any other operation.
    pub(crate) fn apply(&mut self, operation: Operation, origin: Origin) -> Result<(), String> {
        if !matches!(operation, Operation::Add { .. }) {
            self.known.clear();
        }
        self.edit.apply(operation).map_err(|error| self.fail(&error))?;
        if let Some(applied) = self.edit.operations().last() {
            self.lists.applied(applied);
        }
        self.origins.push(origin);
        Ok(())
    }

    pub(crate) fn change_count(&self) -> usize {
        self.origins.len() - self.received_count
    }

    /// The origins of the changes of this evaluation.
    pub(crate) fn origins(&self) -> &[Origin] {
        self.origins.get(self.received_count..).unwrap_or_default()
    }

    /// The names of the rules that have changed the object in this evaluation.
    pub(crate) fn authors(&self) -> HashSet<&str> {
        authors(self.origins())
    }

    /// Whether the operations turn `received` into the draft.
    pub(crate) fn follows_from(&self, received: &Document<'_>) -> bool {
        let mut made = received.clone();
        made.apply_all(self.edit.operations()).is_ok() && made.view().same_as(self.edit.view())
    }

    pub(crate) fn into_patch(self) -> (Patch, Vec<Origin>) {
        (self.edit.into_patch(), self.origins)
    }

    fn fail(&mut self, error: &ApplyError) -> String {
        self.broken = true;
        error.to_string()
    }
}

/// The names of the rules in `origins`.
pub(crate) fn authors(origins: &[Origin]) -> HashSet<&str> {
    // The operations of a rule are mostly adjacent.
    let runs = origins.chunk_by(|one, next| Arc::ptr_eq(&one.rule, &next.rule));
    runs.filter_map(|run| run.first()).map(|origin| &*origin.rule).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;
    use vestibule_patch::{Document, Operation, Schema};

    use super::Draft;
    use crate::decision::Origin;
    use crate::diagnostic::Position;
    use crate::overlay::Overlay;
    use crate::pod::Shape;
    use crate::rule::{Clause, Item, OnConflict, Resource};
    use crate::subject::Layout;

    const POD: &str = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}"#;

    fn draft() -> Draft<'static> {
        let document = Document::parse(POD).unwrap();
        Draft::new(document, Layout::of(Resource::Pods), Shape::of(Schema::unknown()))
    }

    fn origin() -> Origin {
        Origin { rule: "r".into(), clause: "pod".into(), source: "rules.yaml".into(), line: 1 }
    }

    fn add(path: &str) -> Operation {
        let value: Arc<RawValue> = RawValue::from_string(r#""x""#.to_owned()).unwrap().into();
        Operation::Add { path: path.parse().unwrap(), value }
    }

    fn remove(path: &str) -> Operation {
        Operation::Remove { path: path.parse().unwrap() }
    }

    #[test]
    fn an_addition_keeps_the_notes() {
        let clause = Clause { text: "".into(), at: Position { line: 1, column: 1 } };
        let item = Item::new(clause, "a".to_owned(), Overlay::Text("a".to_owned()), OnConflict::Keep);
        let mut draft = draft();
        draft.known.note([&item], None, false);
        draft.apply(add("/metadata/labels/c"), origin()).unwrap();
        assert!(draft.known.has(&item, None));
        draft.apply(remove("/metadata/labels/a"), origin()).unwrap();
        assert!(!draft.known.has(&item, None));
    }

    #[test]
    fn a_failed_operation_is_rolled_back() {
        let mut draft = draft();
        let checkpoint = draft.checkpoint();
        let error = draft.apply(remove("/metadata/none/a"), origin()).unwrap_err();
        assert!(error.contains("/metadata/none"), "{error}");
        assert!(draft.broken);
        draft.roll_back(&checkpoint);
        assert!(!draft.broken && draft.change_count() == 0);
        assert_eq!(draft.root().to_json(), POD);
    }
}
