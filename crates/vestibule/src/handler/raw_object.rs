//! An object as its received bytes.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use vestibule_patch::{Document, DocumentError, Outline, View};

/// A JSON document, byte by byte as it was received. Cheap to clone.
///
/// As the `T` of a handler it saves decoding: read members with [`RawObject::view`] and answer with
/// [`Mutation::Patch`](crate::Mutation::Patch). It has no `Debug`, because it may be a Secret.
///
/// ```
/// use vestibule::RawObject;
///
/// let object: RawObject = serde_json::from_str(r#"{"spec": {"size": 1.0}}"#)?;
/// assert_eq!(object.view().pointer(&"/spec/size".parse()?).map(|size| size.to_json().into_owned()).as_deref(), Some("1.0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RawObject(Arc<CopiedText>);

struct CopiedText {
    // An `Arc<RawValue>` made of a box is a second copy of the text.
    text: Box<RawValue>,
    /// Of the copy, if the received text was read already.
    outline: Option<Outline>,
}

impl RawObject {
    /// A copy of `received`, which `document` is of.
    pub(crate) fn new(received: &RawValue, document: Option<&Document<'_>>) -> Self {
        let text = received.to_owned();
        let outline = document.and_then(|document| document.outline_of(text.get()));
        Self(Arc::new(CopiedText { text, outline }))
    }

    /// A lazy view: only the members that are asked for are parsed.
    pub fn view(&self) -> View<'_> {
        let CopiedText { text, outline } = &*self.0;
        let resumed = outline.as_ref().and_then(|outline| View::resume(text.get(), outline));
        resumed.unwrap_or_else(|| View::of(text))
    }

    /// The object as a document, which is not read again if the received text was read already.
    pub(crate) fn document(&self) -> Result<Document<'_>, DocumentError> {
        let CopiedText { text, outline } = &*self.0;
        let resumed = outline.as_ref().and_then(|outline| Document::resume(text.get(), outline));
        resumed.map_or_else(|| Document::parse(text.get()), Ok)
    }

    /// The object as a typed value.
    ///
    /// # Errors
    /// It does not fit `T`. The text of the error may quote a value; `?` in a handler leaves the value out.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.text.get()
    }
}

/// The same JSON value, numbers as they are written.
impl PartialEq for RawObject {
    fn eq(&self, other: &Self) -> bool {
        self.view().same_as(other.view())
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(|text| Self(Arc::new(CopiedText { text, outline: None })))
    }
}
