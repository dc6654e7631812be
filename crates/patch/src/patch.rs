//! A patch that carries the proof that it applies, and the document on which it grows.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

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
    /// How many operations were left each time that later ones were forgotten.
    cuts: Vec<usize>,
    /// Tells this edit from its clones and from all others, once somebody has marked a state of it.
    identity: OnceLock<Arc<()>>,
    /// What the text begins with that the operations lead from to the document, as long as they do.
    of: Option<Index>,
}

/// A state of an [`Edit`] to come back to.
pub struct Mark<'a> {
    document: Document<'a>,
    count: usize,
    /// How many cuts there were.
    cuts: usize,
    edit: Arc<()>,
    of: Option<Index>,
}

impl<'a> Edit<'a> {
    /// Begins with `document`. What was done to it before is not part of the patch, which then proves nothing.
    pub fn new(document: Document<'a>) -> Self {
        let of = document.is_untouched().then(|| document.index().clone());
        Self { document, operations: Vec::new(), cuts: Vec::new(), identity: OnceLock::new(), of }
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

    /// The same with each item of the list at `pointer`, as [`Document::open_items`] does.
    pub fn open_items(&mut self, pointer: &Pointer) {
        self.document.open_items(pointer);
    }

    /// Carries out `operation`, which is then part of the patch.
    ///
    /// # Errors
    /// As [`Document::apply`]; go back to a [`Mark`] then: what failed may have changed the document, so that a patch made from
    /// here on proves nothing.
    pub fn apply(&mut self, operation: Operation) -> Result<(), ApplyError> {
        self.document.apply(&operation).inspect_err(|_| self.of = None)?;
        self.operations.push(operation);
        Ok(())
    }

    /// Inserts `items` into the list at `list`, one after the other, each at the index that it comes with or behind all
    /// others: an operation `add` for each of them, and one walk to the list for all.
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
    /// As [`apply`](Self::apply); those before the one that fails are carried out. What stands there is no list.
    pub fn insert(
        &mut self,
        list: &Pointer,
        items: impl IntoIterator<Item = (usize, Arc<RawValue>)>,
    ) -> Result<(), ApplyError> {
        self.document.insert(list, items, &mut self.operations).inspect_err(|_| self.of = None)
    }

    /// Sets the member that `path` ends with, by an operation `add`, if an object stands above it. Otherwise nothing is done, and
    /// both come back: walked once, whether or not.
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
        if !self.document.set(&path, &value).inspect_err(|_| self.of = None)? {
            return Ok(Some((path, value)));
        }
        self.operations.push(Operation::Add { path, value });
        Ok(None)
    }

    /// The state as it is, which costs nothing until something changes.
    pub fn mark(&self) -> Mark<'a> {
        Mark {
            document: self.document.clone(),
            count: self.operations.len(),
            cuts: self.cuts.len(),
            edit: Arc::clone(self.identity.get_or_init(Arc::default)),
            of: self.of.clone(),
        }
    }

    /// Goes back to a state of this very edit; what was done since is forgotten. After a mark of another edit, of a clone, or of
    /// what is forgotten already, the document is the one marked, and the patch proves nothing.
    pub fn go_back(&mut self, mark: Mark<'a>) {
        let is_past = self.has_in_its_past(&mark);
        self.document = mark.document;
        self.operations.truncate(mark.count);
        self.cuts.push(mark.count);
        self.of = mark.of.filter(|_| is_past);
    }

    /// Whether the operations that `mark` was made after are still the first ones.
    fn has_in_its_past(&self, mark: &Mark<'a>) -> bool {
        let mut since = self.cuts.iter().skip(mark.cuts);
        self.identity.get().is_some_and(|identity| Arc::ptr_eq(identity, &mark.edit))
            && since.all(|left| *left >= mark.count)
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
            cuts: Vec::new(),
            identity: OnceLock::new(),
            of: self.of.clone(),
        }
    }
}
