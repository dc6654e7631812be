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
#[derive(Clone)]
pub struct Edit<'a> {
    document: Document<'a>,
    operations: Vec<Operation>,
    of: Option<Index>,
}

/// A state of an [`Edit`] to come back to.
pub struct Mark<'a> {
    document: Document<'a>,
    count: usize,
}

impl<'a> Edit<'a> {
    /// Begins with `document`. What was done to it before is not part of the patch, which then proves nothing.
    pub fn new(document: Document<'a>) -> Self {
        let of = document.is_untouched().then(|| document.index().clone());
        Self { document, operations: Vec::new(), of }
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
    /// As [`Document::apply`]; go back to a [`Mark`] then.
    pub fn apply(&mut self, operation: Operation) -> Result<(), ApplyError> {
        self.document.apply(&operation)?;
        self.operations.push(operation);
        Ok(())
    }

    /// The state as it is, which costs nothing until something changes.
    pub fn mark(&self) -> Mark<'a> {
        Mark { document: self.document.clone(), count: self.operations.len() }
    }

    /// Goes back to a state of this very edit; what was done since is forgotten.
    pub fn go_back(&mut self, mark: Mark<'a>) {
        self.of.take_if(|index| !index.is(mark.document.index()));
        self.document = mark.document;
        self.operations.truncate(mark.count);
    }

    /// What was done, as a patch of the text that the document was read from.
    pub fn into_patch(self) -> Patch {
        Patch { operations: Arc::new(self.operations), of: self.of }
    }
}
