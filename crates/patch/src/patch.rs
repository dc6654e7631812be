//! Patches that carry a proof that they apply, and the edit that makes them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::index::Index;
use crate::{ApplyError, Document, Operation, Pointer, View};

/// Operations of one patch, in their order. There is no `Debug`, as for an [`Operation`].
///
/// A patch of an [`Edit`] knows the text on which its operations were applied. Its operations cannot be changed, so it applies to
/// a document of that text, and need not be applied again to check that.
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
    /// The reading of the text to which the patch applies, if that is proved.
    base: Option<Index>,
}

impl Patch {
    /// Whether exactly these operations were applied, one after the other, to the text of `document`: to this reading of it
    /// ([`Document::parse`]), of which `document` is an unchanged clone. `false` means that this is unknown.
    pub fn was_carried_out_on(&self, document: &Document<'_>) -> bool {
        self.base.as_ref().is_some_and(|index| document.is_untouched() && document.index().is(index))
    }

    /// The patch as JSON text (RFC 6902 section 3), with the bytes of its values.
    pub fn to_json(&self) -> String {
        crate::to_json(self)
    }
}

/// A patch without a proof.
impl From<Vec<Operation>> for Patch {
    fn from(operations: Vec<Operation>) -> Self {
        Self { operations: Arc::new(operations), base: None }
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

/// A document with the operations that were applied to it since it was read.
pub struct Edit<'a> {
    document: Document<'a>,
    operations: Vec<Operation>,
    /// The number of operations that were left at each rollback.
    rollbacks: Vec<usize>,
    /// Identifies this edit among its clones and all others; set with its first [`Mark`].
    identity: OnceLock<Arc<()>>,
    /// The reading of the text from which the operations lead to the document, as long as that is proved.
    base: Option<Index>,
}

/// A state of an [`Edit`], for a rollback.
pub struct Mark<'a> {
    document: Document<'a>,
    count: usize,
    /// The number of rollbacks before it.
    rollbacks: usize,
    identity: Arc<()>,
    base: Option<Index>,
}

impl<'a> Edit<'a> {
    /// An edit of `document`. Earlier changes of the document are not part of the patch, which then has no proof.
    pub fn new(document: Document<'a>) -> Self {
        let base = document.is_untouched().then(|| document.index().clone());
        Self { document, operations: Vec::new(), rollbacks: Vec::new(), identity: OnceLock::new(), base }
    }

    /// The document in its current state.
    pub fn document(&self) -> &Document<'a> {
        &self.document
    }

    /// A view of the whole document.
    pub fn view(&self) -> View<'_> {
        self.document.view()
    }

    /// The operations so far.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Opens containers as [`Document::open`] does; that is not part of the patch.
    pub fn open(&mut self, pointer: &Pointer) {
        self.document.open(pointer);
    }

    /// Opens the items of a list as [`Document::open_items`] does; that is not part of the patch.
    pub fn open_items(&mut self, pointer: &Pointer) {
        self.document.open_items(pointer);
    }

    /// Applies `operation`, which is then part of the patch.
    ///
    /// # Errors
    /// As [`Document::apply`]. Then roll back to a [`Mark`]: a failed operation may have changed the document, so that the patch has no
    /// proof.
    pub fn apply(&mut self, operation: Operation) -> Result<(), ApplyError> {
        self.document.apply(&operation).inspect_err(|_| self.base = None)?;
        self.operations.push(operation);
        Ok(())
    }

    /// Inserts `items` into the list at `list`, one after the other, each at its index or at the end: one operation `add` for each, and
    /// one lookup of the list for all.
    ///
    /// ```
    /// # use vestibule_patch::{Document, Edit, Operation, Pointer};
    /// # use std::sync::Arc;
    /// let value = |json: &str| serde_json::value::RawValue::from_string(json.to_owned()).map(Arc::from);
    /// let mut edit = Edit::new(Document::parse(r#"{"sizes": [2]}"#)?);
    /// edit.insert(&"/sizes".parse()?, [(0, value("1")?), (2, value("3")?)])?;
    /// assert_eq!(edit.document().to_json(), r#"{"sizes":[1,2,3]}"#);
    /// assert_eq!(edit.operations()[1].path().as_str(), "/sizes/-");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`apply`](Self::apply), or there is no list at the path. The items before a failure are inserted.
    pub fn insert(
        &mut self,
        list: &Pointer,
        items: impl IntoIterator<Item = (usize, Arc<RawValue>)>,
    ) -> Result<(), ApplyError> {
        self.document.insert(list, items, &mut self.operations).inspect_err(|_| self.base = None)
    }

    /// Sets the member at `path`, by an operation `add`, if an object is above it. Otherwise it changes nothing and returns both
    /// arguments. Either way the path is looked up once.
    ///
    /// ```
    /// # use vestibule_patch::{Document, Edit, Pointer};
    /// # use std::sync::Arc;
    /// let ten = || serde_json::value::RawValue::from_string("10".to_owned()).map(Arc::from);
    /// let mut edit = Edit::new(Document::parse(r#"{"size": {"x": 1}}"#)?);
    /// assert!(edit.set("/size/y".parse()?, ten()?)?.is_none());
    /// assert!(edit.set("/place/y".parse()?, ten()?)?.is_some());
    /// assert_eq!(edit.document().to_json(), r#"{"size":{"x":1,"y":10}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn set(
        &mut self,
        path: Pointer,
        value: Arc<RawValue>,
    ) -> Result<Option<(Pointer, Arc<RawValue>)>, ApplyError> {
        if !self.document.set(&path, &value).inspect_err(|_| self.base = None)? {
            return Ok(Some((path, value)));
        }
        self.operations.push(Operation::Add { path, value });
        Ok(None)
    }

    /// The current state. It copies nothing until something changes.
    pub fn mark(&self) -> Mark<'a> {
        Mark {
            document: self.document.clone(),
            count: self.operations.len(),
            rollbacks: self.rollbacks.len(),
            identity: Arc::clone(self.identity.get_or_init(Arc::default)),
            base: self.base.clone(),
        }
    }

    /// Goes back to an earlier state of this edit, and forgets the operations since then. With a mark of another edit, of a clone, or of
    /// a forgotten state, the document is the marked one, and the patch has no proof.
    pub fn go_back(&mut self, mark: Mark<'a>) {
        let is_past = self.has_in_its_past(&mark);
        self.document = mark.document;
        self.operations.truncate(mark.count);
        self.rollbacks.push(mark.count);
        self.base = mark.base.filter(|_| is_past);
    }

    /// Whether the first operations are still the ones before `mark`.
    fn has_in_its_past(&self, mark: &Mark<'a>) -> bool {
        let mut since = self.rollbacks.iter().skip(mark.rollbacks);
        self.identity.get().is_some_and(|identity| Arc::ptr_eq(identity, &mark.identity))
            && since.all(|left| *left >= mark.count)
    }

    /// The operations as a patch of the text from which the document was read.
    pub fn into_patch(self) -> Patch {
        Patch { operations: Arc::new(self.operations), base: self.base }
    }
}

/// A clone has an identity of its own: marks of the one are not valid for the other.
impl Clone for Edit<'_> {
    fn clone(&self) -> Self {
        Self {
            document: self.document.clone(),
            operations: self.operations.clone(),
            rollbacks: Vec::new(),
            identity: OnceLock::new(),
            base: self.base.clone(),
        }
    }
}
