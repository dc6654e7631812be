//! YAML files of users.

use vestibule_patch::{Document, Operation};
use vestibule_rules::yaml;

use crate::reference;

/// A patch as JSON in the first line, YAML in the others.
///
/// A file is converted to valid JSON, which has the same value when it is written as YAML. An error is printable on a terminal
/// and has an existing location. A file that is patched in place has the value of the patched object.
pub fn yaml(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let (patch, text) = input.split_once('\n').unwrap_or(("[]", input));
    let documents = match yaml::read("file.yaml", text) {
        Ok(documents) => documents,
        Err(findings) => {
            assert!(!findings.is_empty());
            for finding in findings {
                let headline = finding.headline();
                assert!(!headline.contains(char::is_control), "{headline:?}");
                // In YAML, a single carriage return also ends a line.
                assert!(finding.position().line <= text.split(['\r', '\n']).count(), "{headline}");
            }
            return;
        }
    };
    for document in &documents {
        let json = document.to_json();
        // Too deep, or a number beyond a double: a later stage refuses it with its name.
        let Ok(meant) = Document::parse(&json) else { continue };
        let Ok(written) = yaml::from_json(&json) else { continue };
        let again = yaml::read("again.yaml", &written).unwrap_or_default();
        let again: Vec<String> = again.iter().map(yaml::Document::to_json).collect();
        let [again] = &again[..] else { panic!("{} documents of {written:?}", again.len()) };
        assert!(
            Document::parse(again).expect("a document").view().same_as(meant.view()),
            "{written:?} is not {json}"
        );
    }
    let [document] = &documents[..] else { return };
    patched(patch, text, &document.to_kubectl_json());
}

/// Patches the file as a manifest, with plain scalars as `kubectl` reads them.
fn patched(patch: &str, text: &str, json: &str) {
    let Ok(operations) = serde_json::from_str::<Vec<Operation>>(patch) else { return };
    // A number beyond a double is refused elsewhere with its name.
    if reference::value(json).is_none() || reference::value(patch).is_none() {
        return;
    }
    let Ok(mut document) = Document::parse(json) else { return };
    let Ok(patched) = yaml::patch(text, &operations) else { return };
    document.apply_all(&operations).expect("what applies to the text applies to the object");
    // An empty document is dropped from a file.
    if document.view().is_null() {
        return;
    }
    let read = yaml::read("patched.yaml", &patched.text).unwrap_or_default();
    let [read] = &read[..] else { panic!("{} documents of {:?}", read.len(), patched.text) };
    let read = read.to_kubectl_json();
    let read = Document::parse(&read).expect("a document");
    assert!(read.view().same_as(document.view()), "{:?} is not {}", patched.text, document.to_json());
}
