//! Differences of documents, and their application to a third document.

use vestibule_admission::keys;
use vestibule_patch::{Document, Operation, Schema, diff_onto, to_json};

use crate::{lines, reference};

/// Two lines, `before` and `after`, and optionally a third, a document with more members than `before`.
///
/// The difference applies to `before` and yields `after`, also by another implementation. A document has no difference from
/// itself. The difference can be computed onto any third document.
pub fn diff(input: &[u8]) {
    let Some([before, rest]) = lines(input) else { return };
    let (after, onto) = rest.split_once('\n').unwrap_or((rest, before));
    for schema in [Schema::unknown(), keys::schema("", "v1", "Pod")] {
        reaches(before, after, schema);
        if let Ok(operations) = diff_onto(before, after, onto, schema) {
            // The result depends on `onto`; the only invariant is that it is readable.
            applied(onto, &operations);
        }
    }
}

fn reaches(before: &str, after: &str, schema: Schema<'_>) {
    let Ok(operations) = vestibule_patch::diff(before, after, schema) else {
        assert!(Document::parse(before).is_err() || Document::parse(after).is_err());
        return;
    };
    let reached = applied(before, &operations);
    let target = Document::parse(after).expect("it was read");
    let reached = Document::parse(&reached).expect("a document");
    assert!(reached.view().same_as(target.view()), "{} is not {after}", reached.to_json());
    assert_eq!(to_json(&vestibule_patch::diff(after, after, schema).expect("it was read")), "[]");
    if let (Some(before), Some(after)) = (reference::value(before), reference::value(after)) {
        let theirs =
            reference::patched(before, &operations).expect("it applies by the other implementation too");
        assert_eq!(theirs, after);
    }
}

fn applied(text: &str, operations: &[Operation]) -> String {
    let mut document = Document::parse(text).expect("it was read");
    document.apply_all(operations).expect("the difference applies");
    document.to_json()
}
