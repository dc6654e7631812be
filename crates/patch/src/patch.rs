//! A patch that carries the proof that it applies, and the document on which it grows.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::index::Index;
use crate::{ApplyError, Document, Operation, Pointer, View};

/// Operations that make one patch, in their order. There is no `Debug`, as there is none for an [`Operation`].
///
/// One that comes from an [`Edit`] remembers which text its operations were carried out on. Nothing can be put into it or
/// taken out, so whoever holds a document of that text knows that it applies, without carrying it out again.
///
/// ```
/// use vestibule_patch::{Document, Edit, Operation, Patch};
///
/// let document = Document::parse(r#"{"size": 1}"#)?;
/// let mut edit = Edit::new(document.clone());
/// edit.apply(Operation::Remove { path: "/size".parse()? })?;
/// let patch = edit.into_patch();
/// assert!(patch.was_carried_out_on(&document));
/// assert_eq!(patch.to_json(), r#"[{"op":"remove","path":"/size"}]"#);
///
/// let unproven = Patch::from(patch.to_vec());
/// assert!(!unproven.was_carried_out_on(&document));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Patch {
    operations: Arc<Vec<Operation>>,
    /// The one reading of the text that this patch begins with, as long as somebody proved it.
    of: Option<Index>,
}

impl Patch {
    /// Whether these very operations were carried out, one after the other, on the text of `document`: on this reading of it
    /// ([`Document::parse`]), of which `document` is a clone that nobody has changed. `false` means that nobody knows.
    pub fn was_carried_out_on(&self, document: &Document<'_>) -> bool {
        self.of.as_ref().is_some_and(|index| document.is_untouched() && document.index().is(index))
    }

    /// The patch as JSON text (RFC 6902 section 3), values byte by byte as they are.
    pub fn to_json(&self) -> String {
        crate::to_json(self)
    }
}

/// Operations of which nobody has proved anything.
impl From<Vec<Operation>> for Patch {
    fn from(operations: Vec<Operation>) -> Self {
        Self { operations: Arc::new(operations), of: None }
    }
}

impl Deref for Patch {
    type Target = [Operation];

    fn deref(&self) -> &[Operation] {
        &self.operations
    }
}

impl Serialize for Patch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.operations.serialize(serializer)
    }
}

/// A document and what was done to it since it was read: a patch in the making.
pub struct Edit<'a> {
    document: Document<'a>,
    operations: Vec<Operation>,
    /// Of each of them a number that no other operation of this edit ever had.
    numbers: Vec<u64>,
    /// The highest of all, those forgotten included.
    numbered: u64,
    /// Tells this edit from its clones and from all others.
    identity: Arc<()>,
    /// What the text begins with that the operations lead from to the document, as long as they do.
    of: Option<Index>,
}

/// A state of an [`Edit`] to come back to.
pub struct Mark<'a> {
    document: Document<'a>,
    count: usize,
    /// That of the last operation, if there was one.
    number: Option<u64>,
    edit: Arc<()>,
    of: Option<Index>,
}

impl<'a> Edit<'a> {
    /// Begins with `document`. What was done to it before is not part of the patch, which then proves nothing.
    pub fn new(document: Document<'a>) -> Self {
        let of = document.is_untouched().then(|| document.index().clone());
        Self {
            document,
            operations: Vec::new(),
            numbers: Vec::new(),
            numbered: 0,
            identity: Arc::default(),
            of,
        }
    }

    /// The document as it is by now.
    pub fn document(&self) -> &Document<'a> {
        &self.document
    }

    /// The whole of it, to look at.
    pub fn view(&self) -> View<'_> {
        self.document.view()
    }

    /// What was done.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Takes apart what stands at `pointer` and on the way there, as [`Document::open`] does; that is no part of the patch.
    pub fn open(&mut self, pointer: &Pointer) {
        self.document.open(pointer);
    }

    /// Carries out `operation`, which is then part of the patch.
    ///
    /// # Errors
    /// As [`Document::apply`]; go back to a [`Mark`] then: what failed may have changed the document, so that a patch made from
    /// here on proves nothing.
    pub fn apply(&mut self, operation: Operation) -> Result<(), ApplyError> {
        self.document.apply(&operation).inspect_err(|_| self.of = None)?;
        self.operations.push(operation);
        self.numbered += 1;
        self.numbers.push(self.numbered);
        Ok(())
    }

    /// The state as it is, which costs nothing until something changes.
    pub fn mark(&self) -> Mark<'a> {
        Mark {
            document: self.document.clone(),
            count: self.operations.len(),
            number: self.numbers.last().copied(),
            edit: Arc::clone(&self.identity),
            of: self.of.clone(),
        }
    }

    /// Goes back to a state of this very edit; what was done since is forgotten. After a mark of another edit, of a clone, or of
    /// what is forgotten already, the document is the one marked, and the patch proves nothing.
    pub fn go_back(&mut self, mark: Mark<'a>) {
        let is_past = self.has_in_its_past(&mark);
        self.document = mark.document;
        self.operations.truncate(mark.count);
        self.numbers.truncate(mark.count);
        self.of = mark.of.filter(|_| is_past);
    }

    /// Whether the operations that `mark` was made after are still the first ones.
    fn has_in_its_past(&self, mark: &Mark<'a>) -> bool {
        let first = self.numbers.get(..mark.count);
        Arc::ptr_eq(&self.identity, &mark.edit)
            && first.is_some_and(|first| first.last() == mark.number.as_ref())
    }

    /// What was done, as a patch of the text that the document was read from.
    pub fn into_patch(self) -> Patch {
        Patch { operations: Arc::new(self.operations), of: self.of }
    }
}

/// A clone goes its own way: marks of the one are none of the other.
impl Clone for Edit<'_> {
    fn clone(&self) -> Self {
        Self {
            document: self.document.clone(),
            operations: self.operations.clone(),
            numbers: self.numbers.clone(),
            numbered: self.numbered,
            identity: Arc::default(),
            of: self.of.clone(),
        }
    }
}
