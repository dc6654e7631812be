//! JSON to typed values, for objects that nest deeper than serde_json decodes.

use serde::de::DeserializeOwned;
use vestibule_patch::{Document, Operation, Pointer};

/// Decodes an object that was received, and is known to be JSON.
///
/// serde_json decodes 127 levels and skips unknown members of any depth. kube-apiserver repeats the names of an object's fields in
/// `metadata.managedFields`, which nests as deep as the object: a type that does not know the deep field, but has metadata, would
/// not decode. Such an object is decoded without its `managedFields`. They stay in the object received, like any other member
/// that the type does not know.
pub(crate) fn decode<T: DeserializeOwned>(object: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(object).or_else(|error| match error.is_syntax() {
        // The grammar has been checked: the only syntax error left is the limit of levels.
        true => without_managed_fields(object).ok_or(error),
        false => Err(error),
    })
}

fn without_managed_fields<T: DeserializeOwned>(object: &str) -> Option<T> {
    let mut document = Document::parse(object).ok()?;
    let path = Pointer::root().child("metadata").child("managedFields");
    document.apply(&Operation::Remove { path }).ok()?;
    serde_json::from_str(&document.to_json()).ok()
}
