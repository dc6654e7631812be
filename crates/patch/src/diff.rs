//! Computes the operations that apply the change between two documents to a third.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::view::MAX_RECURSION;
use crate::{Document, DocumentError, Kind, Operation, Pointer, Schema, View};

mod align;
mod decoded_list;
mod list;
mod received_positions;
mod remaining_items;

#[doc(hidden)]
pub use received_positions::received_positions;

/// A minimal list of operations that turn `before` into `after`; empty if both are equal.
///
/// # Errors
/// A text is not JSON, or nests too deeply.
///
/// ```
/// use vestibule_patch::{Schema, diff, to_json};
///
/// let patch = diff(r#"{"args": ["serve"]}"#, r#"{"args": ["--quiet", "serve"]}"#, Schema::unknown())?;
/// assert_eq!(to_json(&patch), r#"[{"op":"add","path":"/args/0","value":"--quiet"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff(before: &str, after: &str, schema: Schema<'_>) -> Result<Vec<Operation>, DocumentError> {
    let (before, after) = (Document::parse(before)?, Document::parse(after)?);
    diff_documents(&before, &after, &before, schema)
}

/// The change from `before` to `after`, as operations on `onto`, where `before` is the part of `onto` that a type can decode.
///
/// All else in `onto` stays: unknown members, the spelling of numbers, and unknown members of list items, which move with their
/// item. List items are matched by the schema's keys; in lists without a schema by their `name`, else by the longest common
/// subsequence. A list that the type sorts stays in the order of `onto`. If `onto` has no value or `null` where `after` has one,
/// the whole value is added. A value that changed below 128 levels is replaced as a whole: no type decodes deeper values, so
/// `before` has all of it.
///
/// # Errors
/// A text is not JSON, or nests too deeply.
///
/// ```
/// use vestibule_patch::{Schema, diff_onto, to_json};
///
/// let onto = r#"{"name": "a", "since": 1.0}"#;
/// let patch = diff_onto(r#"{"name":"a"}"#, r#"{"name":"b"}"#, onto, Schema::unknown())?;
/// assert_eq!(to_json(&patch), r#"[{"op":"replace","path":"/name","value":"b"}]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diff_onto(
    before: &str,
    after: &str,
    onto: &str,
    schema: Schema<'_>,
) -> Result<Vec<Operation>, DiffError> {
    let onto = Document::parse(onto).map_err(DiffError::Onto)?;
    let before = Document::parse(before).map_err(DiffError::Before)?;
    let after = Document::parse(after).map_err(DiffError::After)?;
    diff_documents(&before, &after, &onto, schema).map_err(DiffError::After)
}

/// The same as [`diff_onto`], for documents.
///
/// # Errors
/// A value of `after` nests too deeply.
pub fn diff_documents(
    before: &Document<'_>,
    after: &Document<'_>,
    onto: &Document<'_>,
    schema: Schema<'_>,
) -> Result<Vec<Operation>, DocumentError> {
    let mut builder = PatchBuilder { operations: Vec::new(), levels: MAX_RECURSION };
    builder.change(&Pointer::root(), before.view(), after.view(), onto.view(), schema)?;
    Ok(builder.operations)
}

/// The document that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The document before the change.
    #[error("the document before the change is {0}")]
    Before(#[source] DocumentError),
    /// The document after the change.
    #[error("the document after the change is {0}")]
    After(#[source] DocumentError),
    /// The document to which the change is applied.
    #[error("the document to change is {0}")]
    Onto(#[source] DocumentError),
}

/// Collects the operations of a patch.
struct PatchBuilder {
    operations: Vec<Operation>,
    /// The number of further levels that are compared by recursion.
    levels: usize,
}

impl PatchBuilder {
    /// Applies the change of one value to the value at `place`.
    fn change(
        &mut self,
        place: &Pointer,
        before: View<'_>,
        after: View<'_>,
        onto: View<'_>,
        schema: Schema<'_>,
    ) -> Result<(), DocumentError> {
        if before.to_json() == after.to_json() {
            return Ok(());
        }
        match (before.kind(), after.kind(), onto.kind()) {
            (Kind::Object, Kind::Object, Kind::Object) if self.levels > 0 => {
                self.levels -= 1;
                let changed = self.members(place, before, after, onto, schema);
                self.levels += 1;
                changed
            }
            (Kind::Array, Kind::Array, Kind::Array) if self.levels > 0 => {
                self.levels -= 1;
                let changed = self.list(place, before, after, onto, schema);
                self.levels += 1;
                changed
            }
            _ if before.same_as(after) || onto.same_as(after) => Ok(()),
            _ => self.replace(place.clone(), after),
        }
    }

    fn members(
        &mut self,
        place: &Pointer,
        before: View<'_>,
        after: View<'_>,
        onto: View<'_>,
        schema: Schema<'_>,
    ) -> Result<(), DocumentError> {
        let (before, after, onto) = (before.entries(), after.entries(), onto.entries());
        let [mut in_before, mut in_after, mut in_onto] = [&before, &after, &onto].map(|all| ByName::new(all));
        for (name, _) in &before {
            if in_after.find(name).is_none() && in_onto.find(name).is_some() {
                self.remove(place.child(name));
            }
        }
        for (name, after) in &after {
            match (in_before.find(name), in_onto.find(name)) {
                (Some(before), Some(onto)) if before.is_null() || !onto.is_null() => {
                    if before.to_json() != after.to_json() {
                        self.change(&place.child(name), before, *after, onto, schema.field(name))?;
                    }
                }
                (Some(before), _) if before.same_as(*after) => {}
                // The type behind `before` omits an empty value; `onto` may have members that the type does not know.
                (None, Some(onto)) if after.kind() == onto.kind() && is_nonempty(onto) => {
                    let nothing = View::text(if onto.kind() == Kind::Array { "[]" } else { "{}" });
                    self.change(&place.child(name), nothing, *after, onto, schema.field(name))?;
                }
                _ => self.add(place.child(name), *after)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, path: Pointer, value: View<'_>) -> Result<(), DocumentError> {
        self.operations.push(Operation::Add { path, value: raw(value)? });
        Ok(())
    }

    fn remove(&mut self, path: Pointer) {
        self.operations.push(Operation::Remove { path });
    }

    fn replace(&mut self, path: Pointer, value: View<'_>) -> Result<(), DocumentError> {
        self.operations.push(Operation::Replace { path, value: raw(value)? });
        Ok(())
    }
}

/// Lookups in the members of an object. A type writes the members of all its values in one order, so a lookup tries the member after
/// the last one found first.
struct ByName<'e, 'd> {
    members: &'e [(Cow<'d, str>, View<'d>)],
    next: usize,
    /// The positions of many members, from the first lookup on that needs them.
    positions: HashMap<&'e str, usize>,
}

impl<'e, 'd> ByName<'e, 'd> {
    fn new(members: &'e [(Cow<'d, str>, View<'d>)]) -> Self {
        Self { members, next: 0, positions: HashMap::new() }
    }

    fn find(&mut self, name: &str) -> Option<View<'d>> {
        /// Up to this many members are compared one by one.
        const FEW: usize = 16;
        let is_next = self.members.get(self.next).is_some_and(|(next, _)| next == name);
        let position = if is_next {
            self.next
        } else if self.members.len() <= FEW {
            self.members.iter().position(|(other, _)| other == name)?
        } else {
            if self.positions.is_empty() {
                self.positions = self.members.iter().map(|(name, _)| &**name).zip(0..).collect();
            }
            *self.positions.get(name)?
        };
        self.next = position + 1;
        self.members.get(position).map(|(_, value)| *value)
    }
}

fn is_nonempty(value: View<'_>) -> bool {
    value.item(0).is_some() || !value.entries().is_empty()
}

fn raw(value: View<'_>) -> Result<Arc<RawValue>, DocumentError> {
    RawValue::from_string(value.to_json().into_owned()).map(Arc::from).map_err(|error| {
        DocumentError::Syntax { expected: "a value", line: error.line(), column: error.column() }
    })
}
