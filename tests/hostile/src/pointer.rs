//! JSON pointers.

use vestibule_patch::{Document, Pointer};

use crate::reference;

const DOCUMENT: &str =
    r#"{"":{"":0},"a":[1,[2,{"~":3,"/":4}],{"b":null}],"~1":5,"a/b":{"0":6},"\u0000":7,"é":[[]],"-":8}"#;

/// The input is a pointer.
///
/// A pointer is written as it was read; rebuilt from its steps it is equal; and it finds the same value as `serde_json`.
pub fn pointer(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(pointer) = text.parse::<Pointer>() else { return };
    assert_eq!(pointer.as_str(), text);
    let mut rebuilt = Pointer::root();
    pointer.tokens().for_each(|token| rebuilt.push(&token));
    assert_eq!(rebuilt.as_str(), text);
    match pointer.split_last() {
        Some((parent, last)) => assert_eq!(parent.child(&last), pointer),
        None => assert!(pointer.is_root()),
    }
    let document = Document::parse(DOCUMENT).expect("a document");
    let found = document.at(&pointer).map(|found| reference::value(&found.to_json()).expect("a value"));
    let value = reference::value(DOCUMENT).expect("a value");
    assert_eq!(found.as_ref(), value.pointer(text));
}
