//! Patch operations on a document.

use vestibule_patch::{Document, Operation, to_json};

use crate::{lines, reference};

/// Two lines: a document, and operations as an array.
///
/// Either all operations apply or none. The result is a document. Operations that are written and read again are equal.
/// Another implementation that also applies them yields the same value.
pub fn apply(input: &[u8]) {
    let Some([text, patch]) = lines(input) else { return };
    let Ok(operations) = serde_json::from_str::<Vec<Operation>>(patch) else { return };
    let written = to_json(&operations);
    let again: Vec<Operation> = serde_json::from_str(&written).expect("operations are read again");
    assert_eq!(to_json(&again), written);

    let Ok(mut document) = Document::parse(text) else { return };
    let before = document.to_json();
    match document.apply_all(&operations) {
        Err(error) => {
            assert_eq!(document.to_json(), before, "all or nothing");
            assert!(operations.get(error.index.expect("one of a list")).is_some());
        }
        Ok(()) => {
            let after = document.to_json();
            assert!(Document::parse(&after).expect("a document").view().same_as(document.view()));
            let theirs = reference::value(text).and_then(|value| reference::patched(value, &operations));
            if let (Some(theirs), Some(ours)) = (theirs, reference::value(&after)) {
                assert_eq!(ours, theirs);
            }
        }
    }
}
